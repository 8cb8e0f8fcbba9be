-- Purpose: an index to read the latest completed analyses. Their speed gives the estimate
-- of when a queued analysis starts.

-- +goose Up
create index analyses_completed on analyses (id) where status = 'completed' and livemode;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if to_regclass('analyses_completed') is null then
        raise exception 'the latest completed analyses cannot be found';
    end if;
end
$$;
-- +goose StatementEnd
