-- Purpose: replays, which deliver a part of the log to a subscriber again. The subscriber
-- itself runs them between its batches and under its lock, because it has the handler.
-- So a replay and a live delivery never run at the same time.

-- +goose Up
create table replays (
    id             bigint generated always as identity primary key,
    subscription   text        not null check (subscription <> ''),
    first_position bigint      not null check (first_position > 0),
    last_position  bigint      not null check (last_position >= first_position),
    -- True to deliver only events that are parked when the replay reaches them.
    only_parked    boolean     not null,
    -- The last delivered position of the range.
    position       bigint      not null check (position >= first_position - 1 and position <= last_position),
    -- The number of events in the range at the time of the request, the number delivered,
    -- and the number among those that failed and were parked.
    events         bigint      not null check (events > 0),
    delivered      bigint      not null default 0 check (delivered >= 0),
    failed         bigint      not null default 0 check (failed >= 0),
    ordered_by     text        not null,
    ordered_at     timestamptz not null default clock_timestamp(),
    -- Null while the replay is open.
    finished_at    timestamptz,
    canceled       boolean     not null default false check (finished_at is not null or not canceled)
) with (fillfactor = 50);

-- Each poll of a subscriber looks for its oldest open replay.
create index replays_open on replays (subscription, id) where finished_at is null;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'replays', 'select, insert, update') then
        raise exception 'vqa_service cannot order a replay';
    end if;
end
$$;
-- +goose StatementEnd
