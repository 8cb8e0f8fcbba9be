-- Purpose: events that a subscriber tries again later. A failing event must not delay the
-- events of other streams, so it is set aside with the later events of its own stream.

-- +goose Up
create table set_aside (
    subscription text        not null check (subscription <> ''),
    position     bigint      not null check (position > 0),
    stream       text        not null check (stream like '_%/_%'),
    attempts     integer     not null check (attempts >= 0),
    -- The error of the last attempt; empty before the first.
    error        text        not null,
    -- The time of the next attempt. Null while an earlier event of the stream is set aside.
    due_at       timestamptz,
    primary key (subscription, position)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Each delivery of an event looks for an earlier one of its stream.
create index set_aside_stream on set_aside (subscription, stream, position);
-- Each poll looks for the events that are due.
create index set_aside_due on set_aside (subscription, due_at) where due_at is not null;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'set_aside', 'select, insert, update, delete') then
        raise exception 'vqa_service cannot set an event aside';
    end if;
end
$$;
-- +goose StatementEnd
