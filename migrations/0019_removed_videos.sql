-- Purpose: the sweep finds deleted videos whose bytes are not gone yet and repeats their
-- removal. The document of such a video has no purged_at.

-- +goose Up
create index videos_removed on videos (created_at, id) where status = 'removed' and (doc ->> 'purged_at') is null;

-- Checks.
-- +goose StatementBegin
do $$
begin
    if to_regclass('videos_removed') is null then
        raise exception 'deleted videos whose bytes are not gone cannot be found';
    end if;
end
$$;
-- +goose StatementEnd
