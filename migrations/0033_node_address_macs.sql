-- Purpose: a node's address with a MAC, whose key is outside the database (eventstore/node). Who may write this table
-- cannot redirect the requests that nodes pass on to each other.
--
-- Programs from before this migration leave the column empty. Nodes pass no requests on to them.

-- +goose Up
alter table nodes add column address_mac bytea not null default '';

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_column_privilege('vqa_service', 'nodes', 'address_mac', 'insert, update') then
        raise exception 'vqa_service cannot record the MAC of a node''s address';
    end if;
end
$$;
-- +goose StatementEnd
