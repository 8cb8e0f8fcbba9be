-- Purpose: state that the nodes share about requests: how many a subject made recently, and
-- which requests with an Idempotency-Key are running (eventstore/node). Both are
-- short-lived, so the tables are unlogged. A crash of the database empties them. Then the
-- counts of one minute are lost, and the locks, whose holders have lost their connections
-- too.

-- +goose Up
create unlogged table rate_windows (
    -- The class of the requests and their sender.
    subject    text        primary key check (subject <> ''),
    -- The start of the newest fixed window. For a subject that may do something once in an
    -- interval, the time of the last allowed request.
    started_at timestamptz not null,
    -- The allowed requests in this window and in the previous one.
    current    integer     not null check (current >= 0),
    previous   integer     not null check (previous >= 0),
    -- The limit, and the number of requests that the last round trip allowed.
    allowed    integer     not null check (allowed > 0),
    granted    integer     not null check (granted >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create unlogged table idempotency_locks (
    account_id   text        not null check (account_id <> ''),
    key          text        not null check (key <> ''),
    request_hash bytea       not null check (octet_length(request_hash) = 32),
    -- The request that holds the lock, and the second key of its node's advisory lock. A
    -- lock is void when its node is gone, or after until.
    request_id   text        not null check (request_id <> ''),
    node         bigint      not null,
    until        timestamptz not null,
    primary key (account_id, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'rate_windows', 'select, insert, update, delete')
       or not has_table_privilege('vqa_service', 'idempotency_locks', 'select, insert, update, delete') then
        raise exception 'vqa_service cannot coordinate its nodes';
    end if;
end
$$;
-- +goose StatementEnd
