-- Purpose: count the requests of a subject for each second (domain/rate), so that no 60 seconds
-- have more than the limit. The counts of the last minute are lost.

-- +goose Up
truncate rate_windows;
alter table rate_windows
    -- started_at is now the start of the newest second. counts has the allowed requests of each
    -- second, the newest first, and is empty for a subject that may do something once in an interval.
    add column counts integer[] not null,
    drop column current,
    drop column previous;
