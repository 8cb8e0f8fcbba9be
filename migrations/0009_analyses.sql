-- Purpose: batches of analyses, free re-runs in platform incidents, and the monthly
-- quota. Read models are emptied here and filled from the log by the program's next
-- start, which finds that their recorded shape is not its own (read_models).

-- +goose Up
drop table analyses;
create table analyses (
    id         text primary key,
    account_id text not null,
    livemode   boolean not null,
    video_id   text not null,
    model      text not null,
    status     text not null check (status in
        ('queued', 'preparing', 'analyzing', 'rendering', 'completed', 'failed', 'canceled')),
    -- Empty for an analysis that was created by itself.
    batch_id   text not null,
    created_at timestamptz not null,
    doc        json not null
);
create index on analyses (account_id, livemode, created_at desc, id desc);
create index on analyses (video_id, created_at desc, id desc);
create index on analyses (batch_id) where batch_id <> '';
create index on analyses (created_at, id) where status in ('queued', 'preparing', 'analyzing', 'rendering');

create table incidents (
    id        text primary key,
    opened_at timestamptz not null,
    -- Null while it is open.
    closed_at timestamptz check (closed_at >= opened_at),
    doc       json not null
);
create index on incidents (opened_at) where closed_at is null;

-- Snapshots hold the folded state as the program knew it, and a balance now knows what
-- was used in the month: streams are folded from their first event again.
update streams set snapshot = null, snapshot_version = 0 where snapshot is not null;

-- What must hold now.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'incidents', 'select, insert, update')
       or not has_table_privilege('vqa_service', 'analyses', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read models of analyses';
    end if;
    if exists (select from streams where snapshot is not null) then
        raise exception 'a snapshot of the old shape was left';
    end if;
end
$$;
-- +goose StatementEnd
