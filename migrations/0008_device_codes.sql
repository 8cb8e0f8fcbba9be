-- Purpose: the read model of device codes (projections/resources). A poll finds its code
-- by id. A person finds it by the hash of the user code.

-- +goose Up
create table device_codes (
	-- The hash of the device code.
	id             text primary key check (id ~ '^[0-9a-f]{64}$'),
	-- The account that approved or denied. Empty before that.
	account_id     text not null,
	user_code_hash text not null check (user_code_hash ~ '^[0-9a-f]{64}$'),
	status         text not null check (status in ('pending', 'approved', 'denied', 'consumed')),
	expires_at     timestamptz not null,
	doc            json not null,
	check ((status = 'pending') = (account_id = ''))
);
-- A user code may occur again later. The row that expires last counts.
create index on device_codes (user_code_hash, expires_at desc);

-- +goose Down
drop table device_codes;
