-- Purpose: the newest signed checkpoint of each account, and what is needed to find the
-- accounts whose ledger moved on since.

-- +goose Up
create table ledger_checkpoints (
    id      text   primary key,
    number  bigint not null check (number > 0),
    -- The version of the account's credit stream that the checkpoint vouches for.
    version bigint not null check (version > 0),
    doc     json   not null
) with (fillfactor = 70);

-- The streams of credits among all others. No indexed column of a stream ever changes,
-- so that appends pay nothing for it.
create index streams_of_credits on streams (stream) where stream like 'credit/%';
