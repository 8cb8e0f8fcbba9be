-- Purpose: the newest signed checkpoint of each account, and an index to find the accounts
-- whose ledger has changed since.

-- +goose Up
create table ledger_checkpoints (
    id      text   primary key,
    number  bigint not null check (number > 0),
    -- The version of the account's credit stream that the checkpoint signs.
    version bigint not null check (version > 0),
    doc     json   not null
) with (fillfactor = 70);

-- The credit streams. The indexed column of a stream never changes, so the index adds no
-- cost to an append.
create index streams_of_credits on streams (stream) where stream like 'credit/%';
