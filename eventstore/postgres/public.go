package postgres

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"vqa/eventstore"
)

// PublicFilter selects events of the public feed of an account (docs/contract.md#events-feed). All
// conditions must hold.
type PublicFilter struct {
	// AccountID and Livemode select the account and the mode. The mode of an event is the mode
	// of its stream's first event.
	AccountID string
	Livemode  bool
	// Type is a stored name without a version. Empty means every public type.
	Type string
	// Stream selects one resource. nil means every resource.
	Stream *eventstore.StreamID
	// After is an exclusive lower bound of the position, UpTo an inclusive upper bound. A
	// reader that must not skip events first calls Settled and sets UpTo to its result.
	After, UpTo int64
	// Before is an exclusive upper bound of the position. 0 means no bound.
	Before int64
	// Since and Until are inclusive bounds of the time of the event, in milliseconds.
	Since, Until *time.Time
}

// publicColumns has columns with the table's alias. public is the start of all queries of the feed.
var publicColumns = "e." + strings.ReplaceAll(columns, ", ", ", e.")

const public = " from events e where is_public_event(e.type) and e.account_id = $1"

// Public returns up to limit matching events in the order of positions: the first ones or, with
// newest, the last ones.
func (s *Store) Public(ctx context.Context, f PublicFilter, limit int, newest bool) ([]eventstore.Recorded, error) {
	sql, args := f.query()
	order := "asc"
	if newest {
		order = "desc"
	}
	list, err := s.query(ctx, fmt.Sprintf("%s order by e.position %s limit %d", sql, order, limit), args...)
	if err != nil {
		return nil, fmt.Errorf("public events: %w", err)
	}
	if newest {
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
	}
	return list, nil
}

// query returns the filter in SQL and its arguments.
func (f PublicFilter) query() (sql string, args []any) {
	var b strings.Builder
	b.WriteString("select " + publicColumns + public)
	args = []any{f.AccountID}
	where := func(condition string, arg any) {
		args = append(args, arg)
		fmt.Fprintf(&b, " and "+condition, len(args))
	}
	where("e.position > $%d", f.After)
	where("e.position <= $%d", f.UpTo)
	if f.Before > 0 {
		where("e.position < $%d", f.Before)
	}
	where("(select (first.data->>'livemode')::boolean from events first where first.stream = e.stream and first.version = 1) = $%d", f.Livemode)
	if f.Type != "" {
		where("split_part(e.type, '@', 1) = $%d", f.Type)
	}
	if f.Stream != nil {
		where("e.stream = $%d", f.Stream.String())
	}
	if f.Since != nil {
		where("date_trunc('milliseconds', (e.data->>'at')::timestamptz) >= $%d", *f.Since)
	}
	if f.Until != nil {
		where("date_trunc('milliseconds', (e.data->>'at')::timestamptz) <= $%d", *f.Until)
	}
	return b.String(), args
}

// PublicByChain returns the public events of an account whose chain begins with these bytes. With
// enough bytes there is at most one.
func (s *Store) PublicByChain(ctx context.Context, accountID string, beginning []byte) ([]eventstore.Recorded, error) {
	length := len(eventstore.Chain{})
	if len(beginning) > length {
		return nil, nil
	}
	last := append(bytes.Clone(beginning), bytes.Repeat([]byte{0xff}, length-len(beginning))...)
	list, err := s.query(ctx, "select "+publicColumns+public+" and e.chain >= $2 and e.chain <= $3", accountID, beginning, last)
	if err != nil {
		return nil, fmt.Errorf("public events: %w", err)
	}
	return list, nil
}

const historiesSQL = ` from unnest($1::text[], $2::bigint[]) as n(stream, version)
 cross join lateral (select * from events where stream = n.stream and version <= n.version offset 0) as e
 order by e.stream, e.version`

// Histories returns the events of each stream from the first one up to a version.
func (s *Store) Histories(ctx context.Context, upTo map[eventstore.StreamID]int64) (map[eventstore.StreamID][]eventstore.Recorded, error) {
	names, versions := make([]string, 0, len(upTo)), make([]int64, 0, len(upTo))
	for id, version := range upTo {
		names, versions = append(names, id.String()), append(versions, version)
	}
	list, err := s.query(ctx, "select "+publicColumns+historiesSQL, names, versions)
	if err != nil {
		return nil, fmt.Errorf("histories: %w", err)
	}
	histories := make(map[eventstore.StreamID][]eventstore.Recorded, len(upTo))
	for _, e := range list {
		histories[e.Stream] = append(histories[e.Stream], e)
	}
	return histories, nil
}
