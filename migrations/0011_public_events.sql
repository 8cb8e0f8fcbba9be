-- Purpose: the public feed of an account's events (docs/contract.md#events-feed). The feed
-- reads the log by account in the order of positions. It finds a single event by the
-- beginning of its chain, which is part of the event's id.

-- +goose Up

-- True for the stored types, of any version, that are public. It is a single expression,
-- so that a query with it can use the indexes below.
create function is_public_event(type text) returns boolean language sql immutable parallel safe
return split_part(type, '@', 1) in ('video.ready', 'video.failed', 'analysis.completed', 'analysis.failed',
                                    'analysis.canceled', 'stream.ended');

create index events_public_by_account on events (account_id, position) where is_public_event(type);
create index events_public_by_chain on events (chain) where is_public_event(type);

-- Checks.
-- +goose StatementBegin
do $$
begin
    if not is_public_event('video.ready') or not is_public_event('analysis.completed@2') or is_public_event('analysis.created') then
        raise exception 'public events are not told from others';
    end if;
end
$$;
-- +goose StatementEnd
