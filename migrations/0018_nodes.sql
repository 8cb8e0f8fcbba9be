-- Purpose: leases of nodes (eventstore/node). A node is alive while its lease lasts. It renews
-- the lease every few seconds. All times are those of the database's clock, so the clocks of
-- the nodes do not matter. An advisory lock showed this before: a machine that vanished without
-- closing its connections kept its lock until TCP gave up, which takes hours.
--
-- The table is logged. In an unlogged table a crash of the database would end the leases of
-- nodes that still work.

-- +goose Up
create table nodes (
    -- The name of a process. Another process with the same name waits for the end of the lease.
    name        text        primary key check (name <> ''),
    -- The process that holds the lease: a random text.
    holder      text        not null check (holder <> ''),
    -- Counts the incarnations of the name. A process that lost its lease continues with the
    -- next number, so that work of the incarnation before counts as lost.
    epoch       bigint      not null check (epoch > 0),
    incarnation text        not null unique generated always as (name || '@' || epoch::text) stored,
    started_at  timestamptz not null,
    renewed_at  timestamptz not null,
    lease_until timestamptz not null check (lease_until >= renewed_at)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- The nodes whose lease lasts. A renewal in the future means that the database's clock was set
-- back. Such a lease could otherwise outlive its node by hours. A living node renews within
-- seconds and is listed again.
create view living_nodes as
select name, epoch, incarnation, holder, started_at, renewed_at, lease_until
  from nodes
 where lease_until > clock_timestamp() and renewed_at < clock_timestamp() + interval '5 seconds';

-- A lock is held by an incarnation of a node. The column node held the key of an advisory lock.
-- A program of the previous release still writes it, and leaves holder empty.
alter table idempotency_locks add column holder text not null default '';
alter table idempotency_locks alter column node set default 0;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'nodes', 'select, insert, update, delete')
       or not has_table_privilege('vqa_service', 'living_nodes', 'select') then
        raise exception 'vqa_service cannot hold leases of nodes';
    end if;
    insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until)
    values ('check', 'check', 2, clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '12 seconds'),
           ('past', 'check', 1, clock_timestamp(), clock_timestamp() - interval '13 seconds', clock_timestamp() - interval '1 second'),
           ('future', 'check', 1, clock_timestamp(), clock_timestamp() + interval '1 hour', clock_timestamp() + interval '2 hours');
    if (select string_agg(incarnation, ',') from living_nodes) is distinct from 'check@2' then
        raise exception 'living_nodes does not list the nodes whose lease lasts';
    end if;
    delete from nodes;
end
$$;
-- +goose StatementEnd
