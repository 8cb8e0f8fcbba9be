package public

import (
	"context"
	"strings"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/projections"
	"vqa/projections/resources"
)

// Reader reads the feeds of all accounts.
type Reader struct{ log *postgres.Store }

// NewReader returns a reader of a log.
func NewReader(log *postgres.Store) *Reader { return &Reader{log} }

// Filter narrows a feed. An empty field matches everything.
type Filter struct {
	Type Type
	// ResourceID is the id of a video, an analysis or a live stream. An unknown id matches nothing.
	ResourceID string
}

// Of returns the public form of an event of the log. ok is false for an event that is not public.
func (r *Reader) Of(ctx context.Context, recorded eventstore.Recorded) (e Event, ok bool, err error) {
	if _, ok := ID(recorded); !ok {
		return Event{}, false, nil
	}
	list, err := r.publicEvents(ctx, []eventstore.Recorded{recorded})
	if err != nil {
		return Event{}, false, err
	}
	return list[0], true, nil
}

// Event returns one event of the tenant, or resource_not_found.
func (r *Reader) Event(ctx context.Context, t resources.Tenant, eventID string) (Event, error) {
	recorded, err := r.find(ctx, t.AccountID, eventID)
	if err != nil {
		return Event{}, err
	}
	list, err := r.publicEvents(ctx, []eventstore.Recorded{recorded})
	if err != nil {
		return Event{}, err
	}
	if list[0].Livemode != t.Livemode {
		return Event{}, fault.NotFound("id", eventID)
	}
	return list[0], nil
}

// find returns an event of an account by its id, or resource_not_found.
func (r *Reader) find(ctx context.Context, accountID, eventID string) (eventstore.Recorded, error) {
	beginning, ok := chainOf(eventID)
	if !ok {
		return eventstore.Recorded{}, fault.NotFound("id", eventID)
	}
	list, err := r.log.PublicByChain(ctx, accountID, beginning)
	if err != nil {
		return eventstore.Recorded{}, err
	}
	for _, e := range list {
		if own, ok := ID(e); ok && own == eventID {
			return e, nil
		}
	}
	return eventstore.Recorded{}, fault.NotFound("id", eventID)
}

// Events lists the tenant's events, newest first, and whether there are more. To read on
// without a gap, pass the newest event that was read as EndingBefore. Error:
// resource_not_found for a cursor that is not an event of the account.
func (r *Reader) Events(ctx context.Context, t resources.Tenant, f Filter, p projections.Page) ([]Event, bool, error) {
	query, ok := r.query(t, f)
	if !ok {
		return nil, false, nil
	}
	query.Since, query.Until = p.CreatedAfter, p.CreatedBefore
	var err error
	if p.StartingAfter != "" {
		if query.Before, err = r.Position(ctx, t, p.StartingAfter); err != nil || query.Before == 0 {
			return nil, false, cursorFault(err, p) // no event is older than Beginning
		}
	}
	if p.EndingBefore != "" {
		if query.After, err = r.Position(ctx, t, p.EndingBefore); err != nil {
			return nil, false, cursorFault(err, p)
		}
	}
	if query.UpTo, err = r.log.Settled(ctx); err != nil {
		return nil, false, err
	}
	forward := p.EndingBefore != ""
	recorded, err := r.log.Public(ctx, query, p.Limit+1, !forward)
	if err != nil {
		return nil, false, err
	}
	more := len(recorded) > p.Limit
	switch {
	case more && forward:
		recorded = recorded[:p.Limit]
	case more:
		recorded = recorded[1:]
	}
	list, err := r.publicEvents(ctx, recorded)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, more, err
}

// cursorFault names the parameter that contained an unknown event.
func cursorFault(err error, p projections.Page) error {
	if fault.Has(err, fault.ResourceNotFound) {
		return p.UnknownCursor()
	}
	return err
}

// Since returns the tenant's events after a position in the order of the log, at most limit
// of them. It also returns the position to continue from.
func (r *Reader) Since(ctx context.Context, t resources.Tenant, f Filter, after int64, limit int) (list []Event, next int64, err error) {
	settled, err := r.log.Settled(ctx)
	if err != nil || settled <= after {
		return nil, after, err
	}
	query, ok := r.query(t, f)
	if !ok {
		return nil, settled, nil
	}
	query.After, query.UpTo = after, settled
	recorded, err := r.log.Public(ctx, query, limit, false)
	if err != nil {
		return nil, after, err
	}
	if len(recorded) == limit {
		settled = recorded[limit-1].Position
	}
	list, err = r.publicEvents(ctx, recorded)
	return list, settled, err
}

// Latest returns the id of the tenant's newest event, or Beginning. Every later event comes
// after the returned position.
func (r *Reader) Latest(ctx context.Context, t resources.Tenant) (eventID string, position int64, err error) {
	settled, err := r.log.Settled(ctx)
	if err != nil {
		return "", 0, err
	}
	query := postgres.PublicFilter{AccountID: t.AccountID, Livemode: t.Livemode, UpTo: settled}
	recorded, err := r.log.Public(ctx, query, 1, true)
	if err != nil {
		return "", 0, err
	}
	if len(recorded) == 0 {
		return Beginning, settled, nil
	}
	eventID, _ = ID(recorded[0])
	return eventID, settled, nil
}

// Position returns the position of the tenant's event with an id, and 0 for Beginning.
// Error: resource_not_found.
func (r *Reader) Position(ctx context.Context, t resources.Tenant, eventID string) (int64, error) {
	if eventID == Beginning {
		return 0, nil
	}
	e, err := r.Event(ctx, t, eventID)
	return e.Position, err
}

// query converts a filter to a filter of the log. ok is false when nothing can match.
func (r *Reader) query(t resources.Tenant, f Filter) (query postgres.PublicFilter, ok bool) {
	query = postgres.PublicFilter{AccountID: t.AccountID, Livemode: t.Livemode, Type: string(f.Type)}
	if f.ResourceID == "" {
		return query, true
	}
	prefix, _, _ := strings.Cut(f.ResourceID, "_")
	switch id.Prefix(prefix) {
	case id.Video:
		query.Stream = new(fold.Video.Stream(f.ResourceID))
	case id.Analysis:
		query.Stream = new(fold.Analysis.Stream(f.ResourceID))
	case id.Stream:
		query.Stream = new(fold.Stream.Stream(f.ResourceID))
	default:
		return query, false
	}
	return query, true
}

// publicEvents returns the public forms of events. It reads all their streams with one
// load.
func (r *Reader) publicEvents(ctx context.Context, recorded []eventstore.Recorded) ([]Event, error) {
	if len(recorded) == 0 {
		return nil, nil
	}
	upTo := make(map[eventstore.StreamID]int64, len(recorded))
	for _, e := range recorded {
		upTo[e.Stream] = max(upTo[e.Stream], e.Version)
	}
	histories, err := r.log.Histories(ctx, upTo)
	if err != nil {
		return nil, err
	}
	list := make([]Event, len(recorded))
	for i, e := range recorded {
		if list[i], err = newEvent(e, histories[e.Stream]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
