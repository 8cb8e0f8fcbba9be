-- Purpose: the log of events, the heads of its streams, the receipts of idempotent
-- requests, the positions of its subscribers, and the role under which the service
-- runs. Nothing here is ever rewritten: later migrations add.

-- +goose Up

-- The service runs as vqa_service, which can add events but never change one. A
-- role belongs to the cluster, so another database may have made it already, even
-- while this migration runs: the outcome is checked instead of the steps.
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
            -- A neighbour made or granted it at the same moment.
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
    -- json, not jsonb: kept byte for byte as it was written, and three times faster
    -- to read in bulk.
    data        json        not null,
    meta        json        not null,
    recorded_at timestamptz not null default clock_timestamp(),
    unique (stream, version)
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- The service may add and read. The sequence is read by the fence below.
grant select, insert on events to vqa_service;
grant select on sequence events_position_seq to vqa_service;

-- Everything made from here on, by later migrations and by River's own, is open to
-- the service.
alter default privileges grant select, insert, update, delete on tables to vqa_service;
alter default privileges grant usage, select on sequences to vqa_service;

-- The second guard: no role at all changes the log, not even its owner.
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

-- Reading in order. Positions are handed out before their transaction commits, so
-- a higher one may become visible before a lower one. Every insert therefore first
-- takes a shared advisory lock whose key says after which position its own will
-- come: 16 bits of tag, 48 bits of the last position given out. It is held to the
-- end of the transaction, blocks nobody, and cannot be forgotten, because the table
-- takes it.
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

-- The greatest position such that it and all before it are either visible to every
-- snapshot taken AFTER this call or will never be: nothing later than the newest
-- visible event, nothing later than what an open writer started from. Read up to it
-- in a statement of its own (read committed), never in the same one.
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

-- One row a stream: the version that the next append must expect. Rows are updated
-- at every append, so pages keep room for it and vacuum comes early.
create table streams (
    stream           text   primary key check (stream like '_%/_%'),
    version          bigint not null check (version >= 0),
    -- The version that the last append was decided on. An append proposes it, and
    -- the row is taken only while it still is the current one.
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
    -- 0 and empty until the response was sent.
    status       integer     not null check (status >= 0),
    body         bytea       not null,
    created_at   timestamptz not null,
    primary key (account_id, key)
);
create index receipts_created_at on receipts (created_at);

-- How far each subscriber of the log has come.
create table subscriptions (
    name       text        primary key check (name <> ''),
    position   bigint      not null check (position >= 0),
    updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- Events that a subscriber could not handle; it went on without them.
create table parked (
    subscription text        not null,
    position     bigint      not null check (position > 0),
    error        text        not null,
    attempts     integer     not null check (attempts > 0),
    at           timestamptz not null default clock_timestamp(),
    primary key (subscription, position)
);

-- What must hold now.
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
