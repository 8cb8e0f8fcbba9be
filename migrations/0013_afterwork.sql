-- Purpose: completed analyses whose artifacts or narrative are still made are found by the
-- sweep, which takes up what a lost node left. The rows are written anew from the log by
-- the program's next start, which finds that their recorded shape is not its own
-- (read_models).

-- +goose Up
-- True while something that was promised with the answer is not there yet.
alter table analyses add column afterwork boolean not null default false
    check (not afterwork or status = 'completed');
create index analyses_afterwork on analyses (created_at, id) where afterwork;

-- What must hold now.
-- +goose StatementBegin
do $$
begin
    if to_regclass('analyses_afterwork') is null then
        raise exception 'unfinished afterwork cannot be found';
    end if;
end
$$;
-- +goose StatementEnd
