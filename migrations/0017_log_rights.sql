-- Purpose: protect the readers of the log from skipped events and from writers that do not
-- end. The service may no longer choose positions. The triggers of the log also fire in
-- replica mode. A function lists the open writers.

-- +goose Up

-- The triggers need a lock that waits for open writers, and appends wait behind it. A writer
-- that hangs must not stop all appends, so the migration gives up instead.
set local lock_timeout = '5s';

-- One event at a position far ahead would make readers skip all positions before it. GENERATED
-- ALWAYS does not prevent it: OVERRIDING SYSTEM VALUE and COPY choose a position. The right to
-- insert into the column does.
revoke insert on events from vqa_service;
grant insert (stream, version, type, account_id, data, meta, chain) on events to vqa_service;

-- The identity column draws positions without a right to the sequence. events_fence reads it.
revoke usage, update on sequence events_position_seq from vqa_service;

-- A plain trigger does not fire while session_replication_role is replica.
alter table events enable always trigger events_fence;
alter table events enable always trigger events_append_only;

-- The open writers of the log, for which events_settled waits. Readers cannot go beyond
-- position_before until the writer ends. pid is null for a prepared transaction.
-- +goose StatementBegin
create function events_writers() returns table (pid integer, position_before bigint, virtual_transaction text)
language sql stable as $$
    select l.pid, ((l.classid::bigint << 32) | l.objid::bigint) & ((1::bigint << 48) - 1), l.virtualtransaction
      from pg_locks l
     where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
       and l.classid::bigint >> 16 = 30321
       and l.database = (select oid from pg_database where datname = current_database())
$$;
-- +goose StatementEnd

-- Checks.
-- +goose StatementBegin
do $$
begin
    if has_column_privilege('vqa_service', 'events', 'position', 'insert') then
        raise exception 'vqa_service can choose positions';
    end if;
    if has_sequence_privilege('vqa_service', 'events_position_seq', 'update') then
        raise exception 'vqa_service can move the sequence of positions';
    end if;
    if not has_column_privilege('vqa_service', 'events', 'data', 'insert')
       or not has_sequence_privilege('vqa_service', 'events_position_seq', 'select') then
        raise exception 'vqa_service cannot append';
    end if;
    if (select count(*) from pg_trigger where tgrelid = 'events'::regclass and tgenabled = 'A'
           and tgname in ('events_fence', 'events_append_only')) <> 2 then
        raise exception 'the log is not guarded in replica mode';
    end if;
end
$$;
-- +goose StatementEnd
