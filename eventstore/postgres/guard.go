package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/mac"
)

// Guard computes the MACs of new rows and checks those of stored rows. See "Rows that only the
// service can write" in the package documentation. It is safe for concurrent use.
type Guard struct {
	keys *mac.Keys
	// installation is the id in the table log_identity.
	installation string
	// Found is called with each row that is refused or left out, unless it is nil. It must not block.
	// Set it before the first use.
	Found func(*eventstore.ForgedError)
}

// OpenGuard returns the guard of a database, which must have been migrated. It computes MACs with the
// newest key, and accepts those of the older ones. Errors: the first or the last event of the log has
// the MAC of another key (*eventstore.ForgedError), a short key, or the database.
func OpenGuard(ctx context.Context, pool *pgxpool.Pool, newest []byte, older ...[]byte) (*Guard, error) {
	g := &Guard{}
	if err := pool.QueryRow(ctx, "select id::text from log_identity").Scan(&g.installation); err != nil {
		return nil, fmt.Errorf("read the id of the log: %w", err)
	}
	var err error
	if g.keys, err = mac.New(g.installation, newest, older...); err != nil {
		return nil, err
	}
	return g, g.checkEnds(ctx, pool)
}

// checkEnds finds a missing key at the start of a node, before it serves. Other findings wait until the
// rows are used.
func (g *Guard) checkEnds(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, "(select "+columns+" from events order by position limit 1) union all (select "+columns+" from events order by position desc limit 1)")
	if err != nil {
		return fmt.Errorf("read the ends of the log: %w", err)
	}
	ends, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return fmt.Errorf("read the ends of the log: %w", err)
	}
	for _, r := range ends {
		if err := g.keys.CheckEvent(r.encoded(), r.mac); errors.Is(err, mac.ErrUnknownKey) {
			return &eventstore.ForgedError{Stream: r.stream, Version: r.version, Position: r.position, Problem: err.Error()}
		}
	}
	return nil
}

// Installation is the id of this database. The keys are derived from it.
func (g *Guard) Installation() string { return g.installation }

// event returns the MAC of a new event. A nil guard computes none.
func (g *Guard) event(e codec.Encoded) []byte {
	if g == nil {
		return nil
	}
	return g.keys.Event(e)
}

// snapshot returns the MAC of a new snapshot. A nil guard computes none.
func (g *Guard) snapshot(stream eventstore.StreamID, version int64, chain eventstore.Chain, state []byte) []byte {
	if g == nil {
		return nil
	}
	return g.keys.Snapshot(stream, version, chain, state)
}

// CheckEvent returns nil when the service wrote a stored event, as far as the row alone shows it. Error:
// *eventstore.ForgedError.
func (g *Guard) CheckEvent(e codec.Encoded, position int64, sum []byte) error {
	if err := g.keys.CheckEvent(e, sum); err != nil {
		return g.found(&eventstore.ForgedError{Stream: e.Stream, Version: e.Version, Position: position, Problem: err.Error()})
	}
	return nil
}

// found reports a finding and returns it.
func (g *Guard) found(f *eventstore.ForgedError) error {
	if g.Found != nil {
		g.Found(f)
	}
	return f
}

// walk checks the events of one stream in their order.
type walk struct {
	*Guard
	stream  eventstore.StreamID
	version int64
	chain   eventstore.Chain
}

// next checks the next event.
func (w *walk) next(r row) error {
	e := r.encoded()
	refuse := func(format string, args ...any) error {
		return w.found(&eventstore.ForgedError{Stream: w.stream, Version: r.version, Position: r.position, Problem: fmt.Sprintf(format, args...)})
	}
	if r.version != w.version+1 {
		return refuse("version %d is missing before it", w.version+1)
	}
	if codec.Link(w.chain, e) != e.Chain {
		return refuse("its hash does not follow from its content and the event before it")
	}
	if err := w.CheckEvent(e, r.position, r.mac); err != nil {
		return err
	}
	w.version, w.chain = r.version, e.Chain
	return nil
}

// checkHistory checks the rows of a loaded stream: the snapshot, each event after it, and that the head
// is the one of the last event. A snapshot without a valid MAC is reported and not used: the rows are
// those of the whole stream then.
func (g *Guard) checkHistory(ctx context.Context, s *Store, l *loaded) error {
	if !l.headed {
		return g.found(&eventstore.ForgedError{Stream: l.stream, Problem: "the stream has events and no head"})
	}
	w := &walk{Guard: g, stream: l.stream}
	if l.snapshotVersion > 0 {
		if err := g.checkSnapshot(l); err == nil {
			w.version, w.chain = l.snapshotVersion, chainOf(l.snapshotChain)
		} else {
			_ = g.found(&eventstore.ForgedError{Stream: l.stream, Version: l.snapshotVersion, Problem: "the snapshot is not used: " + err.Error()})
			if err := g.withoutSnapshot(ctx, s, l); err != nil {
				return err
			}
		}
	}
	for _, r := range l.events {
		if err := w.next(r); err != nil {
			return err
		}
	}
	if w.version != l.version || w.chain != chainOf(l.chain) {
		return g.found(&eventstore.ForgedError{Stream: l.stream, Problem: fmt.Sprintf(
			"it has version %d, and the events end with version %d and their own hash", l.version, w.version)})
	}
	return nil
}

// checkSnapshot returns nil when the service wrote the snapshot.
func (g *Guard) checkSnapshot(l *loaded) error {
	if len(l.snapshotMAC) == 0 || len(l.snapshotChain) != len(eventstore.Chain{}) {
		return mac.ErrMissing
	}
	return g.keys.CheckSnapshot(l.stream, l.snapshotVersion, chainOf(l.snapshotChain), l.snapshot, l.snapshotMAC)
}

// withoutSnapshot replaces the rows of a loaded stream by its whole history up to the loaded version.
func (g *Guard) withoutSnapshot(ctx context.Context, s *Store, l *loaded) error {
	rows, err := s.rows(ctx, "select "+columns+" from events where stream = $1 and version <= $2 order by version", l.stream.String(), l.version)
	if err != nil {
		return err
	}
	l.snapshot, l.snapshotVersion, l.events = nil, 0, rows
	return nil
}

// checkStream checks the events of a whole stream.
func (g *Guard) checkStream(stream eventstore.StreamID, rows []row) error {
	w := &walk{Guard: g, stream: stream}
	for _, r := range rows {
		if err := w.next(r); err != nil {
			return err
		}
	}
	return nil
}

// CheckSnapshot returns nil when the service wrote a stored snapshot. chain and sum are the columns
// snapshot_chain and snapshot_mac. Error: *eventstore.ForgedError.
func (g *Guard) CheckSnapshot(stream eventstore.StreamID, version int64, chain, state, sum []byte) error {
	err := g.checkSnapshot(&loaded{stream: stream, snapshotVersion: version, snapshotChain: chain, snapshot: state, snapshotMAC: sum})
	if err == nil {
		return nil
	}
	return &eventstore.ForgedError{Stream: stream, Version: version, Problem: err.Error()}
}
