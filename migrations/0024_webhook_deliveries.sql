-- Purpose: deliveries of webhooks (projections/deliveries). A delivery is one public event for one
-- target: an endpoint, or the address that an analysis names for its own events. The bytes that are
-- sent are stored once for each event. Bodies, deliveries and attempts are partitioned by week, so
-- that old ones are removed by dropping tables. The queue is not: a claim over 31 partitions took
-- five times as long.

-- +goose Up

-- The lower bound of the ids of events at or after a time: the prefix and the time of a ULID.
-- +goose StatementBegin
create function webhook_event_bound(at timestamptz) returns text language plpgsql immutable strict as $$
declare
    rest  bigint := floor(extract(epoch from at) * 1000);
    bound text   := '';
begin
    for i in 1..10 loop
        bound := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (rest & 31)::integer + 1, 1) || bound;
        rest := rest >> 5;
    end loop;
    return 'evt_' || bound;
end
$$;
-- +goose StatementEnd

-- The body of an event. It is removed when its resource is deleted.
create table webhook_bodies (
    event_id    text  collate "C" primary key check (event_id like 'evt\_%'),
    account_id  text  not null check (account_id <> ''),
    resource_id text  not null check (resource_id <> ''),
    body        bytea not null
) partition by range (event_id);
create index on webhook_bodies (resource_id);

-- One row for each pair of an event and a target.
create table webhook_deliveries (
    event_id             text        collate "C" not null,
    -- The id of an endpoint, or ov_ and a hash of an account and a host.
    target               text        collate "C" not null check (target <> ''),
    id                   text        not null check (id like 'whd\_%'),
    account_id           text        not null check (account_id <> ''),
    livemode             boolean     not null,
    event_type           text        not null,
    resource_id          text        not null,
    -- The position of the event in the log. 0 for a test delivery, whose event is not in the log.
    position             bigint      not null check (position >= 0),
    -- The address, for a target that is not an endpoint.
    url                  text        check ((url is null) = (target like 'we\_%')),
    -- While an attempt runs, the API shows "delivering" (webhook_queue.claimed_by).
    status               text        not null check (status in ('pending', 'failed', 'delivered', 'dead')),
    attempt_count        integer     not null default 0 check (attempt_count >= 0),
    last_response_status integer,
    last_error           text,
    -- Why a dead delivery ended. A closed list of domain/webhook.
    dead_reason          text        check ((dead_reason is not null) = (status = 'dead')),
    last_attempt_at      timestamptz,
    delivered_at         timestamptz check ((delivered_at is not null) = (status = 'delivered')),
    created_at           timestamptz not null,
    primary key (event_id, target)
) partition by range (event_id);
create index on webhook_deliveries (target, event_id);
create index on webhook_deliveries (id);
create index on webhook_deliveries (position);

-- The attempts of a delivery, by their number from 1. An attempt of a node that died has the error
-- "interrupted".
create table webhook_attempts (
    event_id    text        collate "C" not null,
    delivery_id text        not null,
    n           integer     not null check (n > 0),
    started_at  timestamptz not null,
    -- Null for an attempt that was interrupted.
    duration_us bigint      check (duration_us >= 0),
    status      integer,
    error       text,
    -- The beginning of the response.
    snippet     text,
    node        text        not null,
    primary key (event_id, delivery_id, n)
) partition by range (event_id);

-- The deliveries that wait for an attempt or are in one. A row is deleted when its delivery ends.
create table webhook_queue (
    event_id    text        collate "C" not null,
    target      text        collate "C" not null,
    delivery_id text        not null,
    account_id  text        not null,
    -- The time of the next attempt.
    due         timestamptz not null,
    -- The number of the next attempt, or of the running one. Step is its place in the schedule of
    -- retries, from 0. An interrupted attempt does not use up a step.
    attempt     integer     not null default 1 check (attempt > 0),
    step        integer     not null default 0 check (step >= 0),
    -- The incarnation of the node whose attempt runs. The claim lasts as long as its lease.
    claimed_by  text        check (claimed_by <> ''),
    claimed_at  timestamptz check ((claimed_at is null) = (claimed_by is null)),
    primary key (event_id, target)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index webhook_queue_due on webhook_queue (target, due, event_id) where claimed_by is null;
create index webhook_queue_claimed on webhook_queue (target) where claimed_by is not null;

-- The turns of the targets, and their recent failures.
create table webhook_turns (
    target           text        collate "C" primary key,
    account_id       text        not null,
    -- The time of the first waiting row that may be claimed; infinity when there is none.
    next_due         timestamptz not null,
    -- The target whose last turn is the longest ago comes next.
    last_turn        timestamptz not null default '-infinity',
    -- The failed attempts since the last success.
    failures         integer     not null default 0 check (failures >= 0),
    first_failure_at timestamptz check ((first_failure_at is null) = (failures = 0)),
    last_failure_at  timestamptz check ((last_failure_at is null) = (failures = 0)),
    last_success_at  timestamptz
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index webhook_turns_due on webhook_turns (next_due);

-- webhook_make_partitions creates the partitions of the week of a time. The service may not create
-- tables, so the function has the rights of the owner.
-- +goose StatementBegin
create function webhook_make_partitions(at timestamptz) returns void language plpgsql strict
security definer set search_path from current set lock_timeout = '5s' as $$
declare
    week timestamptz := date_trunc('week', at, 'UTC');
    part text;
begin
    perform pg_advisory_xact_lock(hashtext('webhook_make_partitions'));
    foreach part in array array['webhook_bodies', 'webhook_deliveries', 'webhook_attempts'] loop
        execute format('create table if not exists %I partition of %I for values from (%L) to (%L)',
                       part || to_char(week at time zone 'UTC', '_YYYYMMDD'), part,
                       webhook_event_bound(week), webhook_event_bound(week + interval '7 days'));
    end loop;
end
$$;
-- +goose StatementEnd

-- webhook_drop_partitions drops the partitions of the weeks that ended before a time, and returns the
-- number of dropped tables.
-- +goose StatementBegin
create function webhook_drop_partitions(before timestamptz) returns integer language plpgsql strict
security definer set search_path from current set lock_timeout = '5s' as $$
declare
    part    text;
    dropped integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('webhook_make_partitions'));
    for part in
        select c.relname
          from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent in ('webhook_bodies'::regclass, 'webhook_deliveries'::regclass, 'webhook_attempts'::regclass)
           and (to_date(right(c.relname, 8), 'YYYYMMDD') + 7)::timestamp at time zone 'UTC' <= before
    loop
        execute format('drop table %I', part);
        dropped := dropped + 1;
    end loop;
    return dropped;
end
$$;
-- +goose StatementEnd

revoke execute on function webhook_make_partitions(timestamptz), webhook_drop_partitions(timestamptz) from public;
grant execute on function webhook_make_partitions(timestamptz), webhook_drop_partitions(timestamptz) to vqa_service;

select webhook_make_partitions(clock_timestamp() + n * interval '7 days') from generate_series(0, 4) as n;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if webhook_event_bound('2016-07-30 23:54:10.259Z') <> 'evt_01ARZ3NDEK' then
        raise exception 'webhook_event_bound does not return the time of a ULID: %', webhook_event_bound('2016-07-30 23:54:10.259Z');
    end if;
    if not has_table_privilege('vqa_service', 'webhook_bodies', 'select, insert, delete')
       or not has_table_privilege('vqa_service', 'webhook_deliveries', 'select, insert, update')
       or not has_table_privilege('vqa_service', 'webhook_attempts', 'select, insert')
       or not has_table_privilege('vqa_service', 'webhook_queue', 'select, insert, update, delete')
       or not has_table_privilege('vqa_service', 'webhook_turns', 'select, insert, update, delete')
       or not has_function_privilege('vqa_service', 'webhook_make_partitions(timestamptz)', 'execute')
       or not has_function_privilege('vqa_service', 'webhook_drop_partitions(timestamptz)', 'execute') then
        raise exception 'vqa_service cannot deliver webhooks';
    end if;
    if (select count(*) from pg_inherits where inhparent = 'webhook_deliveries'::regclass) <> 5 then
        raise exception 'the partitions of the next weeks are missing';
    end if;
end
$$;
-- +goose StatementEnd
