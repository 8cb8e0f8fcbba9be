-- Purpose: the read models of the API and of the ledger. They can be rebuilt from the
-- events at any time. Each row has a key, the columns that lists are searched by, and
-- the folded state as a JSON document.

-- +goose Up
create table accounts (
	id  text primary key,
	doc json not null
);

create table api_keys (
	id          text primary key,
	account_id  text not null,
	secret_hash text not null unique check (secret_hash ~ '^[0-9a-f]{64}$'),
	doc         json not null
);
create index on api_keys (account_id);

create table videos (
	id         text primary key,
	account_id text not null,
	livemode   boolean not null,
	status     text not null check (status in ('awaiting_upload', 'processing', 'ready', 'failed', 'removed')),
	expires_at timestamptz,
	created_at timestamptz not null,
	doc        json not null
);
create index on videos (account_id, livemode, created_at desc, id desc);
create index on videos (expires_at) where status = 'awaiting_upload';
create index on videos (created_at) where status = 'processing';

create table analyses (
	id         text primary key,
	account_id text not null,
	livemode   boolean not null,
	video_id   text not null,
	model      text not null,
	status     text not null check (status in
		('queued', 'preparing', 'analyzing', 'rendering', 'completed', 'failed', 'canceled')),
	created_at timestamptz not null,
	doc        json not null
);
create index on analyses (account_id, livemode, created_at desc, id desc);
create index on analyses (video_id, created_at desc, id desc);
create index on analyses (created_at, id) where status in ('queued', 'preparing', 'analyzing', 'rendering');

-- The checks enforce law 1 (docs/architecture.md#laws). domain/credit enforces it too.
create table credit_balances (
	id             text primary key,
	posted_seconds bigint not null check (posted_seconds >= 0),
	held_seconds   bigint not null check (held_seconds >= 0),
	doc            json not null,
	check (posted_seconds >= held_seconds)
);

create table credit_transactions (
	id         text primary key,
	account_id text not null,
	kind       text not null,
	created_at timestamptz not null,
	position   bigint not null,
	doc        json not null
);
create index on credit_transactions (account_id, position desc);

-- +goose Down
drop table credit_transactions, credit_balances, analyses, videos, api_keys, accounts;
