-- Purpose: the account's own feed of events (api-v1.md, "Webhook events"). The log is
-- the feed: it is read by account in the order of positions, and one event is found by
-- the beginning of its chain, which its id holds.

-- +goose Up

-- True for the stored types, of any version, that are public. It is one expression, so
-- that a query which calls it is answered from the indexes that are made with it.
create function is_public_event(type text) returns boolean language sql immutable parallel safe
return split_part(type, '@', 1) in ('video.ready', 'video.failed', 'analysis.completed', 'analysis.failed',
                                    'analysis.canceled', 'stream.ended');

create index events_public_by_account on events (account_id, position) where is_public_event(type);
create index events_public_by_chain on events (chain) where is_public_event(type);

-- What must hold now.
-- +goose StatementBegin
do $$
begin
    if not is_public_event('video.ready') or not is_public_event('analysis.completed@2') or is_public_event('analysis.created') then
        raise exception 'public events are not told from others';
    end if;
end
$$;
-- +goose StatementEnd
