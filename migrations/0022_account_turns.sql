-- Purpose: accounts take turns in the queue of analyses (domain/queue). The table has how much
-- work each account has started of late, in seconds of video. It is not part of the log: a
-- lost row costs an account nothing but the order of some analyses. The rows are deleted when
-- the queue is empty.

-- +goose Up
create table account_turns (
    account_id text primary key check (account_id <> ''),
    -- The tag of the latest analysis of the account that started, and the least tag of its next.
    started_s  double precision not null check (started_s >= 0),
    until_s    double precision not null check (until_s > started_s)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'account_turns', 'select, insert, update, delete') then
        raise exception 'vqa_service cannot record the turns of accounts';
    end if;
end
$$;
-- +goose StatementEnd
