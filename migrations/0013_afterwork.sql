-- Purpose: the sweep finds completed analyses whose artifacts or narrative are still missing
-- and repeats the jobs of a lost node. The program rewrites the rows from the log at its
-- next start, because their recorded shape differs (read_models).

-- +goose Up
-- True while artifacts or a narrative that were promised with the answer do not exist yet.
alter table analyses add column afterwork boolean not null default false
    check (not afterwork or status = 'completed');
create index analyses_afterwork on analyses (created_at, id) where afterwork;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if to_regclass('analyses_afterwork') is null then
        raise exception 'unfinished afterwork cannot be found';
    end if;
end
$$;
-- +goose StatementEnd
