-- Purpose: the log of events, the heads of its streams, the receipts of idempotent
-- requests, the positions of its subscribers, and the role of the service. This file
-- never changes what it executes. Later migrations make all changes.

-- +goose Up

-- The service runs as vqa_service, which can add events but never change one. A role
-- belongs to the whole server, so the migration of another database may create it at
-- the same time. Therefore this block tries several times and checks only the result.
-- +goose StatementBegin
do $$
begin
    for attempt in 1 .. 20 loop
        begin
            if not exists (select from pg_roles where rolname = 'vqa_service') then
                create role vqa_service nologin;
            end if;
            if not pg_has_role(current_user, 'vqa_service', 'member') then
                execute format('grant vqa_service to %I', current_user);
            end if;
            exit;
        exception
            -- Another migration created or granted it at the same time.
            when duplicate_object or unique_violation or internal_error then
                perform pg_sleep(0.05);
        end;
    end loop;
    if not pg_has_role(current_user, 'vqa_service', 'member') then
        raise exception 'the role vqa_service could not be granted to %', current_user;
    end if;
end
$$;
-- +goose StatementEnd

create table events (
    position    bigint      generated always as identity primary key,
    stream      text        not null check (stream like '_%/_%'),
    version     bigint      not null check (version > 0),
    type        text        not null check (type <> ''),
    account_id  text        not null,
    -- json and not jsonb: it keeps the bytes as written, and reading 1M events is 3 times
    -- faster.
    data        json        not null,
    meta        json        not null,
    recorded_at timestamptz not null default clock_timestamp(),
    unique (stream, version)
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- The service may add and read events. events_fence reads the sequence.
grant select, insert on events to vqa_service;
grant select on sequence events_position_seq to vqa_service;

-- The service may read and write all tables created after this line, by later
-- migrations and by River's.
alter default privileges grant select, insert, update, delete on tables to vqa_service;
alter default privileges grant usage, select on sequences to vqa_service;

-- No role may change the log, not even its owner.
-- +goose StatementBegin
create function events_refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'the log is append-only: % on events is refused', tg_op
        using errcode = 'insufficient_privilege';
end
$$;
-- +goose StatementEnd
create trigger events_append_only before update or delete or truncate on events
    for each statement execute function events_refuse_change();

-- Reading in order. A position is assigned before its transaction commits, so a higher
-- position may become visible before a lower one. Therefore every insert first takes a
-- shared advisory lock. Its key has 16 bits of tag and 48 bits of the last assigned
-- position; the positions of the insert are higher. The lock is held until the end of
-- the transaction and blocks no other writer. A trigger takes it, so no writer can omit
-- it.
-- +goose StatementBegin
create function events_fence() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(
        (30321::bigint << 48) | case when is_called then last_value else 0 end)
    from events_position_seq;
    return null;
end
$$;
-- +goose StatementEnd
create trigger events_fence before insert on events
    for each statement execute function events_fence();

-- The last settled position: every event up to it is visible to each snapshot taken
-- AFTER this call, and none will be added. It is the newest visible position, but not
-- beyond the position from which the oldest open writer started. Read the events in a
-- later statement (read committed), never in the same one.
-- +goose StatementBegin
create function events_settled() returns bigint language sql stable as $$
    select least(
        (select coalesce(max(position), 0) from events),
        (select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 48) - 1))
           from pg_locks
          where locktype = 'advisory' and objsubid = 1 and granted
            and classid::bigint >> 16 = 30321
            and database = (select oid from pg_database where datname = current_database())))
$$;
-- +goose StatementEnd

-- One row for each stream, its head: the version that the next append must expect.
-- Every append updates rows, so pages keep free space and vacuum runs early.
create table streams (
    stream           text   primary key check (stream like '_%/_%'),
    version          bigint not null check (version >= 0),
    -- The version that the last append was decided on. An append updates the row only
    -- if this version is still the current one.
    prior_version    bigint not null check (prior_version >= 0 and prior_version <= version),
    snapshot         json,
    snapshot_version bigint not null default 0
                     check (snapshot_version >= 0 and snapshot_version <= version),
    check ((snapshot is null) = (snapshot_version = 0))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create table receipts (
    account_id   text        not null check (account_id <> ''),
    key          text        not null check (key <> ''),
    request_hash bytea       not null check (octet_length(request_hash) = 32),
    resource_id  text        not null,
    -- 0 and empty until the response is saved.
    status       integer     not null check (status >= 0),
    body         bytea       not null,
    created_at   timestamptz not null,
    primary key (account_id, key)
);
create index receipts_created_at on receipts (created_at);

-- The position of each subscriber of the log.
create table subscriptions (
    name       text        primary key check (name <> ''),
    position   bigint      not null check (position >= 0),
    updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- Events that a subscriber could not handle and skipped.
create table parked (
    subscription text        not null,
    position     bigint      not null check (position > 0),
    error        text        not null,
    attempts     integer     not null check (attempts > 0),
    at           timestamptz not null default clock_timestamp(),
    primary key (subscription, position)
);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if has_table_privilege('vqa_service', 'events', 'update, delete, truncate') then
        raise exception 'vqa_service can change events';
    end if;
    if not has_table_privilege('vqa_service', 'events', 'insert')
       or not has_table_privilege('vqa_service', 'streams', 'update') then
        raise exception 'vqa_service cannot append';
    end if;
    if (select seqcache from pg_sequence where seqrelid = 'events_position_seq'::regclass) <> 1 then
        raise exception 'positions must be handed out one at a time';
    end if;
end
$$;
-- +goose StatementEnd
