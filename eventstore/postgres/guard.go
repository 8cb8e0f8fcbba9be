package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/mac"
)

// Guard computes the MACs of new rows and checks those of stored rows. See "Rows that only the
// service can write" in the package documentation. It is safe for concurrent use.
type Guard struct {
	pool *pgxpool.Pool
	keys *mac.Keys
	// installation is the id in the table log_identity.
	installation string
	// Found is called with each row that is refused or left out, unless it is nil. It must not block.
	// Set it before the first use.
	Found func(*eventstore.ForgedError)

	// demanded is true when each row without a MAC is refused. It never becomes false again.
	demanded atomic.Bool

	mu sync.Mutex
	// bases has the valid bases that were read since the last decision.
	bases map[eventstore.StreamID]base
}

// base is the point of a stream up to which its events need no MAC.
type base struct {
	version int64
	chain   eventstore.Chain
}

// OpenGuard returns the guard of a database, which must have been migrated. It computes MACs with the
// newest key, and accepts those of the older ones. It also reads the decisions about MACs. Errors: a
// decision without a valid MAC (*eventstore.ForgedError), a short key, or the database.
func OpenGuard(ctx context.Context, pool *pgxpool.Pool, newest []byte, older ...[]byte) (*Guard, error) {
	g := &Guard{pool: pool, bases: map[eventstore.StreamID]base{}}
	if err := pool.QueryRow(ctx, "select id::text from log_identity").Scan(&g.installation); err != nil {
		return nil, fmt.Errorf("read the id of the log: %w", err)
	}
	var err error
	if g.keys, err = mac.New(g.installation, newest, older...); err != nil {
		return nil, err
	}
	return g, g.Refresh(ctx)
}

// Installation is the id of this database. The keys are derived from it.
func (g *Guard) Installation() string { return g.installation }

// Demanded reports whether each row without a MAC is refused, unless a base covers it.
func (g *Guard) Demanded() bool { return g.demanded.Load() }

// Demand refuses each row without a MAC from now on. The caller has a record outside the database that
// this was decided, which somebody who controls the database cannot remove.
func (g *Guard) Demand() { g.demanded.Store(true) }

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

// CheckEvent returns nil when the service wrote a stored event, as far as the row alone shows it. An
// event without a MAC passes when MACs are not demanded yet, or when the base of its stream covers it.
// The caller checks that the chains of such events lead to the chain of the base. Errors:
// *eventstore.ForgedError, or the base cannot be read.
func (g *Guard) CheckEvent(ctx context.Context, e codec.Encoded, position int64, sum []byte) error {
	_, err := g.check(ctx, e, position, sum)
	return err
}

// check is CheckEvent. signed is true when the event has a valid MAC itself.
func (g *Guard) check(ctx context.Context, e codec.Encoded, position int64, sum []byte) (signed bool, err error) {
	invalid := g.keys.CheckEvent(e, sum)
	if invalid == nil {
		return true, nil
	}
	if errors.Is(invalid, mac.ErrMissing) && !g.demanded.Load() {
		return false, nil
	}
	if !errors.Is(invalid, mac.ErrInvalid) {
		b, found, err := g.base(ctx, e.Stream)
		if err != nil || found && e.Version <= b.version {
			return false, err
		}
	}
	return false, g.found(&eventstore.ForgedError{Stream: e.Stream, Version: e.Version, Position: position, Problem: invalid.Error()})
}

// found reports a finding and returns it.
func (g *Guard) found(f *eventstore.ForgedError) error {
	if g.Found != nil {
		g.Found(f)
	}
	return f
}

// base returns the base of a stream. One without a valid MAC does not count.
func (g *Guard) base(ctx context.Context, stream eventstore.StreamID) (base, bool, error) {
	g.mu.Lock()
	b, known := g.bases[stream]
	g.mu.Unlock()
	if known {
		return b, b.version > 0, nil
	}
	var chain, sum []byte
	err := g.pool.QueryRow(ctx, "select version, chain, mac from stream_bases where stream = $1", stream.String()).Scan(&b.version, &chain, &sum)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		b = base{}
	case err != nil:
		return b, false, fmt.Errorf("read the base of stream %s: %w", stream, err)
	default:
		b.chain = chainOf(chain)
		if g.keys.CheckBase(stream, b.version, b.chain, sum) != nil {
			b = base{}
		}
	}
	if g.demanded.Load() { // before the decision, a base may still be written
		g.mu.Lock()
		if len(g.bases) >= maxBases {
			clear(g.bases)
		}
		g.bases[stream] = b
		g.mu.Unlock()
	}
	return b, b.version > 0, nil
}

// maxBases bounds the bases in memory. One takes about 150 bytes.
const maxBases = 10_000

// walk checks the events of one stream in their order.
type walk struct {
	*Guard
	stream  eventstore.StreamID
	version int64
	chain   eventstore.Chain
	// linked is false while the chain before the next event is not known.
	linked bool
	// unsigned is true after an event without a valid MAC, which the base of the stream covers.
	unsigned bool
}

// next checks the next event.
func (w *walk) next(ctx context.Context, r row) error {
	e := r.encoded()
	refuse := func(format string, args ...any) error {
		return w.found(&eventstore.ForgedError{Stream: w.stream, Version: r.version, Position: r.position, Problem: fmt.Sprintf(format, args...)})
	}
	if r.version != w.version+1 {
		return refuse("version %d is missing before it", w.version+1)
	}
	if w.linked && codec.Link(w.chain, e) != e.Chain {
		return refuse("its hash does not follow from its content and the event before it")
	}
	signed, err := w.check(ctx, e, r.position, r.mac)
	if err != nil {
		return err
	}
	if !signed && w.demanded.Load() {
		w.unsigned = true
		b, _, err := w.base(ctx, w.stream)
		if err != nil {
			return err
		}
		if r.version == b.version && e.Chain != b.chain {
			return refuse("the history up to it differs from the one for which MACs were decided")
		}
	}
	w.version, w.chain, w.linked = r.version, e.Chain, true
	return nil
}

// end checks that the events up to the base are complete.
func (w *walk) end(ctx context.Context) error {
	if !w.unsigned {
		return nil
	}
	b, found, err := w.base(ctx, w.stream)
	if err == nil && found && w.version < b.version {
		err = w.found(&eventstore.ForgedError{Stream: w.stream, Version: w.version, Problem: fmt.Sprintf("its history ended with version %d when MACs were decided", b.version)})
	}
	return err
}

// checkHistory checks the rows of a loaded stream: the snapshot, each event after it, and that the head
// is the one of the last event. A snapshot without a valid MAC is reported and not used: the rows are
// those of the whole stream then.
func (g *Guard) checkHistory(ctx context.Context, s *Store, l *loaded) error {
	if !l.headed {
		return g.found(&eventstore.ForgedError{Stream: l.stream, Problem: "the stream has events and no head"})
	}
	w := &walk{Guard: g, stream: l.stream, version: l.snapshotVersion, linked: l.snapshotVersion == 0}
	if l.snapshotVersion > 0 {
		err := g.checkSnapshot(l)
		switch {
		case err == nil:
			w.chain, w.linked = chainOf(l.snapshotChain), true
		case g.demanded.Load():
			_ = g.found(&eventstore.ForgedError{Stream: l.stream, Version: l.snapshotVersion, Problem: "the snapshot is not used: " + err.Error()})
			if err := g.withoutSnapshot(ctx, s, l); err != nil {
				return err
			}
			w.version, w.linked = 0, true
		}
	}
	for _, r := range l.events {
		if err := w.next(ctx, r); err != nil {
			return err
		}
	}
	if w.version != l.version || w.linked && w.chain != chainOf(l.chain) {
		return g.found(&eventstore.ForgedError{Stream: l.stream, Problem: fmt.Sprintf(
			"it has version %d, and the events end with version %d and their own hash", l.version, w.version)})
	}
	return w.end(ctx)
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
func (g *Guard) checkStream(ctx context.Context, stream eventstore.StreamID, rows []row) error {
	w := &walk{Guard: g, stream: stream, linked: true}
	for _, r := range rows {
		if err := w.next(ctx, r); err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// CheckSnapshot returns nil when the service wrote a stored snapshot. One without a MAC passes when MACs
// are not demanded yet. chain and sum are the columns snapshot_chain and snapshot_mac. Error:
// *eventstore.ForgedError.
func (g *Guard) CheckSnapshot(stream eventstore.StreamID, version int64, chain, state, sum []byte) error {
	err := g.checkSnapshot(&loaded{stream: stream, snapshotVersion: version, snapshotChain: chain, snapshot: state, snapshotMAC: sum})
	// A node of an older release replaces a snapshot and leaves the MAC of the one before.
	if err == nil || !g.demanded.Load() {
		return nil
	}
	return &eventstore.ForgedError{Stream: stream, Version: version, Problem: err.Error()}
}

// CheckBase returns nil when the service wrote the base of a stream. Error: *eventstore.ForgedError.
func (g *Guard) CheckBase(stream eventstore.StreamID, version int64, chain, sum []byte) error {
	if len(chain) != len(eventstore.Chain{}) {
		return &eventstore.ForgedError{Stream: stream, Version: version, Problem: "the base of the stream has no hash"}
	}
	if err := g.keys.CheckBase(stream, version, chainOf(chain), sum); err != nil {
		return &eventstore.ForgedError{Stream: stream, Version: version, Problem: "the base of the stream: " + err.Error()}
	}
	return nil
}
