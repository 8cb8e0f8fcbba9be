package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/mac"
)

// Decision is a row of the table mac_decisions: from then on, each row without a MAC is refused, unless
// the base of its stream covers it.
type Decision struct {
	ID int64 `json:"-"`
	// Position is the position up to which the log was read for the bases.
	Position int64 `json:"position"`
	// Bases is the number of streams that have events without a MAC of the newest key.
	Bases  int64  `json:"bases"`
	Reason string `json:"reason"`
	By     string `json:"decided_by"`
	// LostKey is true when MACs of unknown keys were ignored.
	LostKey bool      `json:"lost_key"`
	At      time.Time `json:"decided_at"`
}

// covered returns the columns that the MAC of a decision covers.
func (d Decision) covered() []string {
	return []string{
		strconv.FormatInt(d.Position, 10), strconv.FormatInt(d.Bases, 10), d.Reason, d.By, strconv.FormatBool(d.LostKey), d.At.UTC().Format(time.RFC3339Nano),
	}
}

// decideLock is the key of the advisory lock under which a decision is made.
const decideLock = 0x7671_6d61_6373

// Refresh reads the newest decision. A node calls it from time to time, because another one may have
// decided. Error: a *eventstore.ForgedError when a decision has no valid MAC.
func (g *Guard) Refresh(ctx context.Context) error {
	_, _, err := g.Newest(ctx)
	return err
}

// Newest returns the newest decision, if there is one.
func (g *Guard) Newest(ctx context.Context) (d Decision, found bool, err error) {
	return g.newest(ctx, g.pool)
}

// CheckDecisions returns nil when the newest decision has a valid MAC, or none was made. Error:
// *eventstore.ForgedError, also when MACs are demanded and no decision exists any more.
func (g *Guard) CheckDecisions(ctx context.Context, tx pgx.Tx) error {
	_, found, err := g.newest(ctx, tx)
	if err == nil && !found && g.Demanded() {
		err = &eventstore.ForgedError{Stream: eventstore.StreamID{Category: "mac_decisions", ID: "newest"}, Problem: "the decision that MACs are demanded was removed"}
	}
	return err
}

// oneRow is a pool or a transaction.
type oneRow interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (g *Guard) newest(ctx context.Context, db oneRow) (d Decision, found bool, err error) {
	var sum []byte
	err = db.QueryRow(ctx, `select id, position, bases, reason, decided_by, lost_key, decided_at, mac
		from mac_decisions order by id desc limit 1`).Scan(&d.ID, &d.Position, &d.Bases, &d.Reason, &d.By, &d.LostKey, &d.At, &sum)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("read the decision about MACs: %w", err)
	}
	if err := g.keys.CheckDecision(sum, d.covered()...); err != nil {
		return d, false, g.found(&eventstore.ForgedError{
			Stream: eventstore.StreamID{Category: "mac_decisions", ID: strconv.FormatInt(d.ID, 10)}, Problem: err.Error(),
		})
	}
	g.decided()
	return d, true, nil
}

// decided notes that a decision was made. The bases in memory may be older than it.
func (g *Guard) decided() {
	if g.demanded.CompareAndSwap(false, true) {
		g.mu.Lock()
		clear(g.bases)
		g.mu.Unlock()
	}
}

// DecideIfEmpty decides that MACs are demanded when the log has no event and no decision. Then no node
// of an older release has ever written to it.
func (g *Guard) DecideIfEmpty(ctx context.Context, by string, now time.Time) error {
	if g.Demanded() {
		return nil
	}
	var used bool
	if err := g.pool.QueryRow(ctx, "select exists (select from events)").Scan(&used); err != nil {
		return fmt.Errorf("look for events: %w", err)
	}
	if used {
		return nil
	}
	err := g.locked(ctx, func(tx pgx.Tx) error {
		// Another node may have decided, or written, before this one took the lock.
		if err := tx.QueryRow(ctx, "select exists (select from events) or exists (select from mac_decisions)").Scan(&used); err != nil || used {
			return err
		}
		return g.record(ctx, tx, Decision{Reason: "the log is empty", By: by, At: now})
	})
	if err != nil {
		return fmt.Errorf("demand MACs: %w", err)
	}
	return g.Refresh(ctx)
}

// Decide records that each row without a MAC is refused from now on. It reads the whole log and refuses
// a log whose chains are broken. A stream with events that have no MAC, or one of an older key, gets a
// base, so older keys are not needed afterwards. Snapshots without a MAC of the newest key are deleted,
// because they cannot be proved. Nodes of a release without MACs must have stopped.
//
// With lostKey, the MACs of keys that this guard does not have are ignored, as after the loss of a key.
// Then only the hash chains show that the history up to now is complete.
func (g *Guard) Decide(ctx context.Context, reason, by string, lostKey bool, now time.Time) (d Decision, err error) {
	d = Decision{Reason: reason, By: by, LostKey: lostKey, At: now}
	err = g.locked(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "select coalesce(max(position), 0) from events").Scan(&d.Position); err != nil {
			return err
		}
		bases, err := g.findBases(ctx, tx, d)
		if err != nil {
			return err
		}
		d.Bases = int64(len(bases))
		if err := g.writeBases(ctx, tx, bases); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update streams set snapshot = null, snapshot_version = 0, snapshot_chain = null, snapshot_mac = null
			where snapshot is not null and (snapshot_mac is null or substr(snapshot_mac, 1, 8) <> $1)`, g.keys.KeyID()); err != nil {
			return err
		}
		return g.record(ctx, tx, d)
	})
	if err != nil {
		return d, fmt.Errorf("demand MACs: %w", err)
	}
	g.demanded.Store(true)
	g.mu.Lock()
	clear(g.bases)
	g.mu.Unlock()
	return d, nil
}

// locked runs do in a transaction while no other node decides.
func (g *Guard) locked(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, g.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("set local statement_timeout = %d", scanTimeout.Milliseconds())); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(decideLock)); err != nil {
			return err
		}
		return do(tx)
	})
}

// record adds a decision. Times have microseconds in the database.
func (g *Guard) record(ctx context.Context, tx pgx.Tx, d Decision) error {
	d.At = d.At.UTC().Truncate(time.Microsecond)
	_, err := tx.Exec(ctx, `insert into mac_decisions (position, bases, reason, decided_by, lost_key, decided_at, mac) values ($1, $2, $3, $4, $5, $6, $7)`,
		d.Position, d.Bases, d.Reason, d.By, d.LostKey, d.At, g.keys.Decision(d.covered()...))
	return err
}

// findBases reads the log and returns the base of each stream that needs one: the last event without a
// MAC of the newest key. Error: a *eventstore.ForgedError for a broken chain or a wrong MAC.
func (g *Guard) findBases(ctx context.Context, tx pgx.Tx, d Decision) (map[eventstore.StreamID]base, error) {
	rows, err := tx.Query(ctx, "select "+columns+" from events where position <= $1 order by stream, version", d.Position)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	bases := map[eventstore.StreamID]base{}
	var chain eventstore.Chain
	var last row
	for rows.Next() {
		var r row
		var name string
		if err := rows.Scan(&r.position, &name, &r.version, &r.kind, &r.account, &r.data, &r.meta, &r.at, &r.chain, &r.mac); err != nil {
			return nil, err
		}
		if r.stream, err = codec.ParseStreamID(name); err != nil {
			return nil, err
		}
		if r.stream != last.stream {
			chain, last = eventstore.Chain{}, row{}
		}
		forged := &eventstore.ForgedError{Stream: r.stream, Version: r.version, Position: r.position}
		e := r.encoded()
		if r.version != last.version+1 || codec.Link(chain, e) != e.Chain {
			forged.Problem = "its hash does not follow from its content and the event before it"
			return nil, g.found(forged)
		}
		switch err := g.keys.CheckEvent(e, r.mac); {
		case errors.Is(err, mac.ErrInvalid):
			forged.Problem = err.Error()
			return nil, g.found(forged)
		case err != nil && g.refuses(err, d) && !g.covers(ctx, r):
			forged.Problem = err.Error()
			return nil, g.found(forged)
		case err != nil || !g.keys.Newest(r.mac):
			bases[r.stream] = base{r.version, e.Chain}
		}
		chain, last = e.Chain, r
	}
	return bases, rows.Err()
}

// refuses reports whether a row with this problem needs a base of an earlier decision.
func (g *Guard) refuses(problem error, d Decision) bool {
	if errors.Is(problem, mac.ErrUnknownKey) {
		return !d.LostKey
	}
	return g.demanded.Load()
}

// covers reports whether the base of an earlier decision covers an event.
func (g *Guard) covers(ctx context.Context, r row) bool {
	b, found, err := g.base(ctx, r.stream)
	return err == nil && found && r.version <= b.version && (r.version < b.version || b.chain == chainOf(r.chain))
}

func (g *Guard) writeBases(ctx context.Context, tx pgx.Tx, bases map[eventstore.StreamID]base) error {
	var names []string
	var versions []int64
	var chains, sums [][]byte
	for stream, b := range bases {
		names, versions, chains = append(names, stream.String()), append(versions, b.version), append(chains, b.chain[:])
		sums = append(sums, g.keys.Base(stream, b.version, b.chain))
	}
	_, err := tx.Exec(ctx, `insert into stream_bases (stream, version, chain, mac)
		select * from unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[])
		on conflict (stream) do update set version = excluded.version, chain = excluded.chain, mac = excluded.mac`,
		names, versions, chains, sums)
	return err
}
