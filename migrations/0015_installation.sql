-- Purpose: the fingerprints of the secret key and of the object store that all nodes of this
-- database share. A node compares its own with them before it serves (eventstore/node).
-- Rows are only added, so the table is also the record of each deliberate change.

-- +goose Up
create table installation_parts (
    id          bigint      generated always as identity primary key,
    part        text        not null check (part in ('secret_key', 'object_store')),
    -- Of the key, an HMAC of a fixed text with it. Of the store, the content of its object
    -- installation/id. The newest row of a part counts.
    fingerprint text        not null check (fingerprint <> ''),
    -- A node, or the operator who adopted the part.
    recorded_by text        not null check (recorded_by <> ''),
    recorded_at timestamptz not null default clock_timestamp()
);
revoke update, delete on installation_parts from vqa_service;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'installation_parts', 'select, insert') then
        raise exception 'vqa_service cannot record the parts of the installation';
    end if;
    if has_table_privilege('vqa_service', 'installation_parts', 'update, delete, truncate') then
        raise exception 'vqa_service can change the record of the parts of the installation';
    end if;
end
$$;
-- +goose StatementEnd
