-- Purpose: the hash chain of the log, and the read models of the ledger with double
-- entry. The read models are emptied here. The program fills them from the log at its
-- next start, because their recorded shape differs from its own (read_models).

-- +goose Up

-- The chain of each stream (eventstore/codec, Link). Existing events get their chain
-- here, once. For that, the trigger events_append_only is disabled within this
-- transaction.
alter table events add column chain bytea check (octet_length(chain) = 32);
alter table streams add column chain bytea not null default decode(repeat('00', 32), 'hex')
    check (octet_length(chain) = 32);
alter table events disable trigger events_append_only;
-- +goose StatementBegin
do $$
declare
    zero constant bytea := decode(repeat('00', 32), 'hex');
    e record;
    of text := '';
    link bytea := zero;
begin
    for e in select position, stream, version::text as version, type, account_id, data::text as data, meta::text as meta
               from events order by stream, version for update
    loop
        if e.stream <> of then
            of := e.stream;
            link := zero;
        end if;
        link := sha256(link || convert_to(
            (select string_agg(octet_length(part) || ':' || part, '' order by n)
               from unnest(array['vqa-event-1', e.stream, e.version, e.type, e.account_id, e.data, e.meta])
                    with ordinality as p(part, n)), 'UTF8'));
        update events set chain = link where position = e.position;
        update streams set chain = link where stream = e.stream and streams.version = e.version::bigint;
    end loop;
end
$$;
-- +goose StatementEnd
alter table events enable trigger events_append_only;
alter table events alter column chain set not null;
alter table streams alter column chain drop default;

-- Ends an append whose batch was decided on an older state. The program recognizes it by
-- the error code.
-- +goose StatementBegin
create function append_refused() returns boolean language plpgsql volatile as $$
begin
    raise exception 'the batch was decided on an older state' using errcode = 'VQ409';
end
$$;
-- +goose StatementEnd

-- Snapshots have the folded state in the shape of the program. The shape has changed, so
-- they are deleted, and streams are folded from their first event again.
update streams set snapshot = null, snapshot_version = 0 where snapshot is not null;

-- The double entry of each account (domain/credit, Postings): the sums that each account of
-- the platform gave to this customer and took back. The checks enforce laws 1 and 3
-- (docs/architecture.md#laws). domain/credit enforces them too.
drop table credit_transactions, credit_balances;
create table credit_balances (
    id                     text primary key,
    posted_seconds         bigint not null check (posted_seconds >= 0),
    held_seconds           bigint not null check (held_seconds >= 0),
    grants_seconds         bigint not null,
    card_grants_seconds    bigint not null,
    sales_seconds          bigint not null,
    adjustments_seconds    bigint not null,
    analysis_usage_seconds bigint not null,
    stream_usage_seconds   bigint not null,
    -- The minute in which the first open hold expires. Null without open holds.
    next_expiry            timestamptz,
    doc                    json not null,
    check (posted_seconds >= held_seconds),
    check (posted_seconds = grants_seconds + card_grants_seconds + sales_seconds + adjustments_seconds
                          - analysis_usage_seconds - stream_usage_seconds)
) with (fillfactor = 70, toast_tuple_target = 8160); -- a row with 30 open holds stays in its page and is not compressed
create index on credit_balances (next_expiry) where next_expiry is not null;

create table credit_transactions (
    id         text primary key,
    account_id text not null,
    kind       text not null,
    created_at timestamptz not null,
    -- The version of the event in the account's credit stream: the order of the ledger.
    version    bigint not null check (version > 0),
    doc        json not null
);
create unique index on credit_transactions (account_id, version desc);

-- The shape of each read model when it was last rebuilt. A program with another shape
-- rebuilds it before it serves.
create table read_models (
    name       text primary key,
    shape      text not null,
    rebuilt_at timestamptz not null default clock_timestamp()
);

-- The result of each rebuild: the digests of the new tables and of the live ones.
create table rebuild_certificates (
    id       bigint generated always as identity primary key,
    at       timestamptz not null default clock_timestamp(),
    position bigint not null check (position >= 0),
    equal    boolean not null,
    accepted boolean not null,
    doc      json not null
);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if has_table_privilege('vqa_service', 'events', 'update, delete, truncate') then
        raise exception 'vqa_service can change events';
    end if;
    if not exists (select from pg_trigger where tgname = 'events_append_only' and tgenabled = 'O') then
        raise exception 'the log is not guarded';
    end if;
    if exists (select from streams s where s.version > 0 and not exists (
            select from events e where e.stream = s.stream and e.version = s.version and e.chain = s.chain)) then
        raise exception 'the head of a stream does not carry the chain of its last event';
    end if;
end
$$;
-- +goose StatementEnd
