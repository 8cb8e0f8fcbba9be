-- Purpose: the read model of webhook endpoints (projections/resources). An account has one row
-- with all its endpoints, at most 10. So a deleted endpoint leaves no row behind, and an event
-- finds its receivers with one read.

-- +goose Up
create table webhook_endpoints (
    -- The account.
    id  text primary key,
    doc json not null
);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'webhook_endpoints', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of webhook endpoints';
    end if;
end
$$;
-- +goose StatementEnd
