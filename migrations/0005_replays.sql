-- Purpose: orders to deliver a part of the log to a subscriber again. The subscriber
-- works them off itself, between its batches and under its own lock, so that nobody
-- else needs its handler and no two deliveries run at once.

-- +goose Up
create table replays (
    id             bigint generated always as identity primary key,
    subscription   text        not null check (subscription <> ''),
    first_position bigint      not null check (first_position > 0),
    last_position  bigint      not null check (last_position >= first_position),
    -- Only those events of the range that are parked when their turn comes.
    only_parked    boolean     not null,
    -- The range is delivered up to here.
    position       bigint      not null check (position >= first_position - 1 and position <= last_position),
    -- The events of the range when it was ordered; those delivered, and among them
    -- those that failed and were parked.
    events         bigint      not null check (events > 0),
    delivered      bigint      not null default 0 check (delivered >= 0),
    failed         bigint      not null default 0 check (failed >= 0),
    ordered_by     text        not null,
    ordered_at     timestamptz not null default clock_timestamp(),
    -- Null while it is open.
    finished_at    timestamptz,
    canceled       boolean     not null default false check (finished_at is not null or not canceled)
) with (fillfactor = 50);

-- Each poll of a subscriber asks for its oldest open order.
create index replays_open on replays (subscription, id) where finished_at is null;

-- What must hold now.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'replays', 'select, insert, update') then
        raise exception 'vqa_service cannot order a replay';
    end if;
end
$$;
-- +goose StatementEnd
