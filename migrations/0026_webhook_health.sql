-- Purpose: automatic disabling of webhook endpoints (projections/deliveries). A target whose attempts all
-- fail is found by the time of its first failure.

-- +goose Up

-- Whether the owner was told about the failures since first_failure_at.
alter table webhook_turns add column warned boolean not null default false;
create index webhook_turns_failing on webhook_turns (first_failure_at) where first_failure_at is not null;

-- +goose StatementBegin
do $$
begin
    if not exists (select from pg_indexes where indexname = 'webhook_turns_failing') then
        raise exception 'the index of failing targets is missing';
    end if;
end
$$;
-- +goose StatementEnd
