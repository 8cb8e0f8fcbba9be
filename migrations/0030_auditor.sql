-- Purpose: the role of an auditor, who may read everything and change nothing (vqa ledger verify).

-- +goose Up

-- A role belongs to the whole server, so the migration of another database may create it at the same
-- time. Therefore this block tries several times and checks only the result.
-- +goose StatementBegin
do $$
begin
    for attempt in 1 .. 20 loop
        begin
            if not exists (select from pg_roles where rolname = 'vqa_auditor') then
                create role vqa_auditor nologin;
            end if;
            if not pg_has_role(current_user, 'vqa_auditor', 'member') then
                execute format('grant vqa_auditor to %I', current_user);
            end if;
            exit;
        exception
            -- Another migration created or granted it at the same time.
            when duplicate_object or unique_violation or internal_error then
                perform pg_sleep(0.05);
        end;
    end loop;
    if not pg_has_role(current_user, 'vqa_auditor', 'member') then
        raise exception 'the role vqa_auditor could not be granted to %', current_user;
    end if;
end
$$;
-- +goose StatementEnd

-- The tables of this migration and of all earlier ones, and those of later ones.
grant select on all tables in schema public to vqa_auditor;
grant select on all sequences in schema public to vqa_auditor;
alter default privileges grant select on tables to vqa_auditor;
alter default privileges grant select on sequences to vqa_auditor;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_auditor', 'events', 'select')
       or not has_sequence_privilege('vqa_auditor', 'events_position_seq', 'select') then
        raise exception 'vqa_auditor cannot read the log';
    end if;
    if has_any_column_privilege('vqa_auditor', 'events', 'insert, update')
       or has_table_privilege('vqa_auditor', 'streams', 'insert, update, delete, truncate') then
        raise exception 'vqa_auditor can change the log';
    end if;
end
$$;
-- +goose StatementEnd
