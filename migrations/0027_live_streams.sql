-- Purpose: the read model of live streams (projections/resources), and the addresses of their nodes. The table streams has the heads
-- of the streams of the log, so this one is named live_streams.

-- +goose Up
create table live_streams (
    id         text primary key,
    account_id text not null,
    livemode   boolean not null,
    status     text not null check (status in ('queued', 'ready', 'live', 'ended')),
    -- The node that runs the stream. Empty before a slot is granted.
    node       text not null,
    created_at timestamptz not null,
    doc        json not null
);
create index on live_streams (account_id, livemode, created_at desc, id desc);
create index on live_streams (created_at, id) where status <> 'ended';

-- Where other nodes reach a node, for the clients of a stream that it owns. Programs from before this migration
-- leave it empty.
alter table nodes add column address text not null default '';

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'live_streams', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of live streams';
    end if;
    if not has_column_privilege('vqa_service', 'nodes', 'address', 'insert, update') then
        raise exception 'vqa_service cannot record the address of a node';
    end if;
end
$$;
-- +goose StatementEnd
