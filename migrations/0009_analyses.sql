-- Purpose: batches of analyses, free re-runs in platform incidents, and the monthly
-- quota. The read models are emptied here. The program fills them from the log at its
-- next start, because their recorded shape differs (read_models).

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
    -- Empty for an analysis outside of a batch.
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
    -- Null while the incident is open.
    closed_at timestamptz check (closed_at >= opened_at),
    doc       json not null
);
create index on incidents (opened_at) where closed_at is null;

-- Snapshots have the folded state in the shape of the program. A balance now has the use
-- of the month, so snapshots are deleted, and streams are folded from their first event
-- again.
update streams set snapshot = null, snapshot_version = 0 where snapshot is not null;

-- Checks.
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
