-- Purpose: the read models of registered programs and of the permissions of agents (projections/resources).
-- A token names its grant, so that no index of tokens exists.

-- +goose Up
create table agent_clients (
    id           text primary key,
    -- A keyed hash of the address that the registration came from.
    address_hash text not null,
    approved     boolean not null,
    expires_at   timestamptz not null,
    doc          json not null
);
create index on agent_clients (address_hash, expires_at) where not approved;

create table agent_grants (
    id         text primary key,
    account_id text not null,
    status     text not null check (status in ('approved', 'active', 'denied', 'revoked')),
    created_at timestamptz not null,
    doc        json not null
);
create index on agent_grants (account_id, created_at desc, id desc);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'agent_clients', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of registered programs';
    end if;
    if not has_table_privilege('vqa_service', 'agent_grants', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of agents'' permissions';
    end if;
end
$$;
-- +goose StatementEnd
