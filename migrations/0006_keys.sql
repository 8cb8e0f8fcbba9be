-- Purpose: lists of an account's API keys, and keys that end when idle, are rotated or
-- belong to a restricted account. The read model is emptied here. The program fills it
-- from the log at its next start, because its recorded shape differs (read_models).

-- +goose Up
drop table api_keys;
create table api_keys (
    id          text primary key,
    account_id  text not null,
    livemode    boolean not null,
    secret_hash text not null unique check (secret_hash ~ '^[0-9a-f]{64}$'),
    created_at  timestamptz not null,
    doc         json not null
);
create index on api_keys (account_id, livemode, created_at desc, id desc);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not has_table_privilege('vqa_service', 'api_keys', 'select, insert, update') then
        raise exception 'vqa_service cannot write the read model of keys';
    end if;
end
$$;
-- +goose StatementEnd
