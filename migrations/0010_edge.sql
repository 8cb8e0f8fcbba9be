-- Purpose: what the nodes tell each other about requests that come in: how many a subject
-- made lately, and which idempotent ones are under way. Both are short-lived. The tables
-- are not logged: a crash of the database empties them, and costs a minute of counting and
-- locks whose holders lost their connections in the same moment.

-- +goose Up
create unlogged table rate_windows (
    -- The class of request and who makes it.
    subject    text        primary key check (subject <> ''),
    -- When the newest fixed window began; for a subject that may do something once in
    -- a while, when it last did.
    started_at timestamptz not null,
    -- Requests granted in that window and in the one before it.
    current    integer     not null check (current >= 0),
    previous   integer     not null check (previous >= 0),
    -- The limit, and how many requests the last trip was granted under it.
    allowed    integer     not null check (allowed > 0),
    granted    integer     not null check (granted >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create unlogged table idempotency_locks (
    account_id   text        not null check (account_id <> ''),
    key          text        not null check (key <> ''),
    request_hash bytea       not null check (octet_length(request_hash) = 32),
    -- The request that holds it, and the second key of its node's advisory lock: a lock
    -- is void when its node is gone, or after until.
    request_id   text        not null check (request_id <> ''),
    node         bigint      not null,
    until        timestamptz not null,
    primary key (account_id, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- What must hold now.
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
