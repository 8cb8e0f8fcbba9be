-- Purpose: the read models of the sessions and the passkeys of people (projections/resources). Every
-- request of a page looks its session up by the hash of the secret in the cookie.

-- +goose Up
create table sessions (
    id          text primary key,
    account_id  text not null,
    secret_hash text not null unique check (secret_hash ~ '^[0-9a-f]{64}$'),
    -- Whether the person signed out or the session was revoked.
    ended       boolean not null,
    opened_at   timestamptz not null,
    doc         json not null
);
create index on sessions (account_id, opened_at desc, id desc) where not ended;
-- An operator lists the sessions of all accounts.
create index on sessions (opened_at desc, id desc) where not ended;

create table passkeys (
    -- The account.
    id  text primary key,
    doc json not null
);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'sessions', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of sessions';
    end if;
    if not has_table_privilege('vqa_service', 'passkeys', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of passkeys';
    end if;
end
$$;
-- +goose StatementEnd
