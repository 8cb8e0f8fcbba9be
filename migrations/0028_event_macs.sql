-- Purpose: message authentication codes, so that the database's owner cannot add or change an event or
-- a snapshot unnoticed. The key is outside the database (eventstore/mac). The columns are null in rows
-- of an older release, and older releases do not write them.

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

-- The decisions that each row without a MAC is refused. Rows are only added. The newest one counts.
create table mac_decisions (
    id         bigint generated always as identity primary key,
    -- Up to this position, events without a MAC may exist, if a base covers them.
    position   bigint not null check (position >= 0),
    -- The number of streams that got a base.
    bases      bigint not null check (bases >= 0),
    reason     text   not null check (reason <> ''),
    decided_by text   not null check (decided_by <> ''),
    decided_at timestamptz not null,
    mac        bytea  not null check (octet_length(mac) = 40)
);
revoke update, delete on mac_decisions from vqa_service;

-- The base of a stream with events from before the decision: the version and the chain up to which its
-- events need no MAC. The chain covers these events.
create table stream_bases (
    stream  text   primary key check (stream like '_%/_%'),
    version bigint not null check (version > 0),
    chain   bytea  not null check (octet_length(chain) = 32),
    mac     bytea  not null check (octet_length(mac) = 40)
);

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
    if has_table_privilege('vqa_service', 'mac_decisions', 'update, delete, truncate') then
        raise exception 'vqa_service can change a decision about MACs';
    end if;
    if (select count(*) from log_identity) <> 1 then
        raise exception 'the log has no id';
    end if;
end
$$;
-- +goose StatementEnd
