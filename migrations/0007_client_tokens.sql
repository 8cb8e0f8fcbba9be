-- The read model of client tokens (projections/resources): looked up by the hash of
-- their secret at every request that shows one.

-- +goose Up
create table client_tokens (
	id          text primary key,
	account_id  text not null,
	key_id      text not null,
	secret_hash text not null unique check (secret_hash ~ '^[0-9a-f]{64}$'),
	doc         json not null
);

-- +goose Down
drop table client_tokens;
