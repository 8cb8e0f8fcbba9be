-- Purpose: message authentication codes, so that the database's owner cannot add or change an event or
-- a snapshot unnoticed. The key is outside the database (eventstore/mac).

-- +goose Up

-- The triggers and readers of the log need a lock that waits for open writers, and appends wait behind
-- it. A writer that hangs must not stop all appends, so the migration gives up instead.
set local lock_timeout = '5s';

-- The id of a key (8 bytes) and an HMAC with SHA-256. A check of all rows would read the whole log, so
-- only new rows are checked.
alter table events add column mac bytea;
alter table events add constraint events_mac_length check (octet_length(mac) = 40) not valid;
grant insert (mac) on events to vqa_service;

-- The MAC of the snapshot covers the chain of the stream at the version of the snapshot.
alter table streams add column snapshot_chain bytea, add column snapshot_mac bytea;
alter table streams add constraint streams_snapshot_chain_length check (octet_length(snapshot_chain) = 32) not valid,
                    add constraint streams_snapshot_mac_length check (octet_length(snapshot_mac) = 40) not valid;

-- The id of this database. The keys are derived from it, so that a row of another database is refused.
create table log_identity (
    only_row boolean primary key default true check (only_row),
    id       uuid    not null default gen_random_uuid()
);
insert into log_identity default values;
revoke insert, update, delete on log_identity from vqa_service;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_column_privilege('vqa_service', 'events', 'mac', 'insert') then
        raise exception 'vqa_service cannot write MACs';
    end if;
    if has_table_privilege('vqa_service', 'log_identity', 'insert, update, delete, truncate') then
        raise exception 'vqa_service can change the id of the log';
    end if;
    if (select count(*) from log_identity) <> 1 then
        raise exception 'the log has no id';
    end if;
end
$$;
-- +goose StatementEnd
