-- Purpose: nodes of two releases on one database. A generation is the number of the newest migration
-- of a program. It says which of two programs is the newer one.
--
-- Programs from before this migration leave both columns at 0.

-- +goose Up
alter table nodes add column generation bigint not null default 0 check (generation >= 0);
-- The first generation that writes rows of the recorded shape. A node of an earlier one writes rows of
-- the shape before.
alter table read_models add column generation bigint not null default 0 check (generation >= 0);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_column_privilege('vqa_service', 'read_models', 'generation', 'select') then
        raise exception 'vqa_service cannot compare the generations of read models';
    end if;
end
$$;
-- +goose StatementEnd
