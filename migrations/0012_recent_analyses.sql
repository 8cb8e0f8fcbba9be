-- Purpose: how fast analyses were made lately is read for the estimate of when a queued
-- one begins.

-- +goose Up
create index analyses_completed on analyses (id) where status = 'completed' and livemode;

-- What must hold now.
-- +goose StatementBegin
do $$
begin
    if to_regclass('analyses_completed') is null then
        raise exception 'the latest completed analyses cannot be found';
    end if;
end
$$;
-- +goose StatementEnd
