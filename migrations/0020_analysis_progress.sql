-- Purpose: the percent of running analyses (projections/resources). The log has an event for
-- each stage only. An event for each percent made most of the log of a long analysis.
--
-- The table is not folded from the log. A row is replaced at most once a second while the work
-- runs, and removed some time after the end. The table is logged: an unlogged one is empty after
-- a crash of the database, and then the percent that callers see would fall.

-- +goose Up
create table analysis_progress (
    analysis_id text        primary key,
    -- The progress of the whole analysis. It never falls.
    percent     smallint    not null check (percent between 0 and 100),
    updated_at  timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'analysis_progress', 'select, insert, update, delete') then
        raise exception 'vqa_service cannot keep the percent of analyses';
    end if;
end
$$;
-- +goose StatementEnd
