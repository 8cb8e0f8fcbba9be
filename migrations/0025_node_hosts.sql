-- Purpose: the machine of each node, for `vqa nodes list`. The name of a node is random.
--
-- Programs from before this migration leave the column empty.

-- +goose Up
alter table nodes add column host text not null default '';

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_column_privilege('vqa_service', 'nodes', 'host', 'insert, update') then
        raise exception 'vqa_service cannot record the host of a node';
    end if;
end
$$;
-- +goose StatementEnd
