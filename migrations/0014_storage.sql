-- Purpose: the storage quota. Each new video needs the sum of the bytes that its account
-- stores. The program rewrites the rows from the log at its next start, because their
-- recorded shape differs (read_models).

-- +goose Up
-- The stored bytes of the video, or the bytes reserved for it.
alter table videos add column held_bytes bigint not null default 0 check (held_bytes >= 0);
-- True while the size of a video that may still receive bytes is not known.
alter table videos add column unsized boolean not null default false
    check (not unsized or status in ('awaiting_upload', 'processing'));
-- The index alone gives the sum.
create index videos_held on videos (account_id) include (held_bytes, unsized) where held_bytes > 0 or unsized;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if to_regclass('videos_held') is null then
        raise exception 'the bytes of an account cannot be summed';
    end if;
end
$$;
-- +goose StatementEnd
