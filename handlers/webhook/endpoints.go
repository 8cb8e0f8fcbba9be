package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// Streams reads streams of the log.
type Streams interface {
	Load(ctx context.Context, streams ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error)
	// LoadAll reads a stream from its first event.
	LoadAll(ctx context.Context, stream eventstore.StreamID) ([]eventstore.Recorded, error)
	ReadStream(ctx context.Context, stream eventstore.StreamID, after int64, limit int) ([]eventstore.Recorded, error)
}

// endpointsOf returns the endpoints of an account.
func endpointsOf(ctx context.Context, streams Streams, accountID string) (webhook.State, error) {
	stream := fold.Webhook.Stream(accountID)
	histories, err := streams.Load(ctx, stream)
	if err != nil {
		return webhook.State{}, fmt.Errorf("the endpoints of %s: %w", accountID, err)
	}
	return restore(ctx, streams, stream, histories[stream])
}

// restore folds a loaded history of endpoints. It reads the whole stream when another release made the
// snapshot.
func restore(ctx context.Context, streams Streams, stream eventstore.StreamID, h eventstore.History) (webhook.State, error) {
	state, err := fold.Webhook.Restore(h)
	if errors.Is(err, fold.ErrOtherShape) {
		var all []eventstore.Recorded
		if all, err = streams.LoadAll(ctx, stream); err == nil {
			state, err = fold.Webhook.Fold(webhook.State{}, all...)
		}
	}
	if err != nil {
		return state, fmt.Errorf("the endpoints of %s: %w", stream.ID, err)
	}
	return state, nil
}

// endpointsAt returns the endpoints of an account at a position of the log. It starts with the snapshot if that
// is older. An account can change its endpoints thousands of times, and reading all changes for each event would
// delay the deliveries of all accounts.
func endpointsAt(ctx context.Context, streams Streams, accountID string, position int64) (webhook.State, error) {
	stream := fold.Webhook.Stream(accountID)
	histories, err := streams.Load(ctx, stream)
	h := histories[stream]
	usable := h.Snapshot == nil
	if err == nil && !usable && fold.Webhook.SameShape(h.Snapshot) {
		var last []eventstore.Recorded
		last, err = streams.ReadStream(ctx, stream, h.SnapshotVersion-1, 1)
		usable = len(last) == 1 && last[0].Position < position
	}
	if err == nil && !usable {
		h = eventstore.History{}
		h.Events, err = streams.LoadAll(ctx, stream)
	}
	if err != nil {
		return webhook.State{}, fmt.Errorf("the endpoints of %s: %w", accountID, err)
	}
	at, _ := slices.BinarySearchFunc(h.Events, position, func(r eventstore.Recorded, position int64) int {
		return int(min(max(r.Position-position, -1), 1))
	})
	h.Events = h.Events[:at]
	return restore(ctx, streams, stream, h)
}
