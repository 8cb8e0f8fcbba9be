package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// Moment is a point in a stream's history. The zero value is now.
type Moment struct {
	// At, if set, selects the events recorded at or before this time.
	At time.Time
	// Version, if > 0, selects the events up to this version.
	Version int64
}

// State is an aggregate at a moment.
type State struct {
	Stream string `json:"stream"`
	// Version is the version of the last folded event, or 0. Latest is the current version
	// of the stream.
	Version int64 `json:"version"`
	Latest  int64 `json:"latest_version"`
	// Position, RecordedAt and Chain belong to the last folded event.
	Position   int64      `json:"position"`
	RecordedAt *time.Time `json:"recorded_at"`
	Chain      string     `json:"chain"`
	// State is the aggregate in its JSON form. It is nil before the first event.
	State any `json:"state"`
}

// foldPage is the number of events of a stream that are read at a time.
const foldPage = 5_000

// StateAt folds a stream up to a moment. A stream without events at that moment has Version
// 0. Errors: the stream has fewer versions than the moment asks for, or an event cannot be
// decoded.
func (r *Reader) StateAt(ctx context.Context, stream eventstore.StreamID, m Moment) (State, error) {
	s := State{Stream: stream.String()}
	aggregate, known := fold.Named(stream.Category)
	if !known {
		return s, fmt.Errorf("unknown stream category %q; known categories: %v", stream.Category, fold.Names())
	}
	var err error
	if s.Latest, err = r.latest(ctx, stream); err != nil {
		return s, err
	}
	if m.Version > s.Latest {
		return s, fmt.Errorf("%s has %d versions, not %d", stream, s.Latest, m.Version)
	}
	for {
		page, err := r.log.ReadStream(ctx, stream, s.Version, foldPage)
		if err != nil {
			return s, err
		}
		part := m.within(page)
		if s.State, err = aggregate.FoldAny(s.State, part...); err != nil {
			return s, err
		}
		if len(part) > 0 {
			last := part[len(part)-1]
			s.Version, s.Position, s.RecordedAt, s.Chain = last.Version, last.Position, &last.RecordedAt, last.Chain.String()
		}
		if len(part) < foldPage {
			break
		}
	}
	if s.Version == 0 {
		s.State = nil
	}
	return s, nil
}

// within returns the part of a page up to the moment.
func (m Moment) within(page []eventstore.Recorded) []eventstore.Recorded {
	for i, e := range page {
		if m.Version > 0 && e.Version > m.Version || !m.At.IsZero() && e.RecordedAt.After(m.At) {
			return page[:i]
		}
	}
	return page
}

func (r *Reader) latest(ctx context.Context, stream eventstore.StreamID) (int64, error) {
	var version int64
	err := r.pool.QueryRow(ctx, "select version from events where stream = $1 order by version desc limit 1", stream.String()).Scan(&version)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("find %s: %w", stream, err)
	}
	return version, nil
}

// Narrow returns the part of a state that a subject names: one key or one webhook endpoint of
// an account, or else all of it.
func (s Subject) Narrow(state any) any {
	if s.MemberID == "" {
		return state
	}
	switch a := state.(type) {
	case account.State:
		if key, exists := a.Keys[s.MemberID]; exists {
			return key
		}
		return nil
	case webhook.State:
		if endpoint, exists := a.Endpoint(s.MemberID); exists {
			return endpoint
		}
		return nil
	}
	return state
}
