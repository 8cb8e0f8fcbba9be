-- Purpose: the read model of client tokens (projections/resources). Every request with a
-- client token looks it up by the hash of its secret.

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
