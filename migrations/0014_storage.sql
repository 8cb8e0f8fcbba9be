-- Purpose: the bytes that an account keeps are summed for its storage quota with every new
-- video. The rows are written anew from the log by the program's next start, which finds
-- that their recorded shape is not its own (read_models).

-- +goose Up
-- Bytes that the video keeps, or was promised room for.
alter table videos add column held_bytes bigint not null default 0 check (held_bytes >= 0);
-- True while it may still bring a number of bytes that nobody knows.
alter table videos add column unsized boolean not null default false
    check (not unsized or status in ('awaiting_upload', 'processing'));
-- The sum is read from the index alone.
create index videos_held on videos (account_id) include (held_bytes, unsized) where held_bytes > 0 or unsized;

-- What must hold now.
-- +goose StatementBegin
do $$
begin
    if to_regclass('videos_held') is null then
        raise exception 'the bytes of an account cannot be summed';
    end if;
end
$$;
-- +goose StatementEnd
