package projections

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
)

// Rebuilder rebuilds read models from the log and proves them while the service runs. The
// package documentation says how.
type Rebuilder struct {
	// Owner connects as the owner of the tables and of the log. The pool needs at least
	// four connections.
	Owner *pgxpool.Pool
	// Decode converts a stored event to an event of the domain.
	Decode func(stored string, data []byte) (eventstore.Event, error)
	// Readable are the stored names of the events that Decode knows.
	Readable []string
	// Generation is the generation of this program (migrations.Generation).
	Generation int64
	// Role is the role of the service, which may read and write the new tables.
	Role string
	// Projections are all read models.
	Projections []Projection
	// Progress is called with the progress of the work. It may be nil. Several goroutines
	// call it, one at a time.
	Progress Progress
}

// Stage is a part of a rebuild.
type Stage string

// The stages, in their order.
const (
	Folding   Stage = "folding"
	Indexing  Stage = "indexing"
	Comparing Stage = "comparing"
	// VerifyingSnapshots compares the snapshots of streams. Only Verify does so.
	VerifyingSnapshots Stage = "verifying snapshots"
	CatchingUp         Stage = "catching up"
	Swapping           Stage = "swapping"
)

// Progress receives the progress of a stage: done of total events or tables.
type Progress func(stage Stage, done, total int64)

// errBusy means that another rebuild is running on the same database.
var errBusy = errors.New("another rebuild is running")

// Rebuild rebuilds the named read models, or all. It swaps them in when they equal the live
// ones. With accept it swaps them in any case. Differing rows are not an error: the
// certificate lists them and says whether the tables were swapped. Errors: another rebuild
// is running, an unknown name, or a failure of the database. After an error the live tables
// are unchanged, and the next Rebuild resumes.
func (r *Rebuilder) Rebuild(ctx context.Context, accept bool, names ...string) (Certificate, error) {
	return r.withLock(ctx, busyTimeout, func(conn *pgx.Conn) (Certificate, error) {
		return r.run(ctx, conn, names, runOptions{swap: true, accept: accept})
	})
}

// Verify proves that the named read models, or all, equal the log, and that the snapshots of their
// streams are the folds of their events. It rebuilds the tables like Rebuild and changes nothing.
func (r *Rebuilder) Verify(ctx context.Context, names ...string) (Certificate, error) {
	return r.withLock(ctx, busyTimeout, func(conn *pgx.Conn) (Certificate, error) {
		return r.run(ctx, conn, names, runOptions{snapshots: true})
	})
}

// runOptions says what a run does after the comparison.
type runOptions struct {
	swap, accept bool
	// snapshots compares the snapshots too.
	snapshots bool
	// keep leaves the live rows of accounts with unreadable streams in place. Without it such streams
	// prevent a swap.
	keep bool
}

// maxRounds is the largest number of rounds that do not catch up. Each round has fewer
// events than the one before, unless the log grows faster than it is folded.
const maxRounds = 40

// run builds, compares and swaps. conn holds the rebuild lock.
func (r *Rebuilder) run(ctx context.Context, conn *pgx.Conn, names []string, o runOptions) (Certificate, error) {
	models, err := r.named(names)
	if err != nil {
		return Certificate{}, err
	}
	w := &work{Rebuilder: r, conn: conn, models: models, started: time.Now(), states: stateCache{of: map[string]stream{}}}
	if err := w.plan(ctx); err != nil {
		return Certificate{}, fmt.Errorf("plan the rebuild: %w", err)
	}
	if err := w.fill(ctx); err != nil {
		return Certificate{}, fmt.Errorf("fill the shadow tables: %w", err)
	}
	if err := w.index(ctx); err != nil {
		return Certificate{}, fmt.Errorf("index the shadow tables: %w", err)
	}
	var c Certificate
	err = r.Owner.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
		w.side = conn.Conn()
		c, err = w.prove(ctx, o)
		return err
	})
	if err != nil {
		return Certificate{}, err
	}
	_, err = conn.Exec(ctx, "drop schema if exists "+shadow+", "+retired+" cascade")
	return c, err
}

// prove compares the filled tables with the live ones and swaps them if allowed.
func (w *work) prove(ctx context.Context, o runOptions) (Certificate, error) {
	c, err := w.compareAll(ctx)
	if err != nil {
		return c, fmt.Errorf("compare the tables: %w", err)
	}
	if o.snapshots {
		if c.Snapshots, err = w.compareSnapshots(ctx); err != nil {
			return c, fmt.Errorf("compare the snapshots: %w", err)
		}
		c.Equal = c.Equal && c.Snapshots.Differing == 0
	}
	c.Unreadable, c.UnreadableStreams = w.unreadable.examples(), w.unreadable.count()
	if o.swap && (c.Equal || o.accept) {
		if err := w.mayReplace(o); err != nil {
			return c, err
		}
		if err := w.swapIn(ctx, &c, o); err != nil {
			return c, fmt.Errorf("swap the tables: %w", err)
		}
	}
	if c.Swapped {
		return c, nil // swap has stored it
	}
	return c, w.store(ctx, w.side, &c, w.folded)
}

// named returns the named projections, or all.
func (r *Rebuilder) named(names []string) ([]Projection, error) {
	if len(names) == 0 {
		return r.Projections, nil
	}
	var models []Projection
	var known []string
	for _, p := range r.Projections {
		known = append(known, p.Table())
		if slices.Contains(names, p.Table()) {
			models = append(models, p)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(models, func(p Projection) bool { return p.Table() == n }) {
			return nil, fmt.Errorf("there is no read model %q; the read models are %s", n, strings.Join(known, ", "))
		}
	}
	return models, nil
}

// workers returns the number of chunks that are folded at the same time. While one worker
// waits for Postgres, another one decodes.
func (r *Rebuilder) workers() int {
	return min(runtime.GOMAXPROCS(0)+1, int(r.Owner.Config().MaxConns)-1)
}

// minConns is one connection each for the lock, the rounds and the live tables, and one
// more.
const minConns = 4

// busyTimeout is how long a rebuild waits for another one. Postgres may notice late that
// the process of an interrupted rebuild is gone.
const busyTimeout = 10 * time.Second

// withLock runs a function under the rebuild lock. A connection holds the lock, so it ends
// with the process. wait is the longest wait for the lock; 0 waits forever.
func (r *Rebuilder) withLock(ctx context.Context, wait time.Duration, do func(*pgx.Conn) (Certificate, error)) (Certificate, error) {
	if most := r.Owner.Config().MaxConns; most < minConns {
		return Certificate{}, fmt.Errorf("a rebuild needs %d connections, the pool has %d", minConns, most)
	}
	conn, err := r.Owner.Acquire(ctx)
	if err != nil {
		return Certificate{}, err
	}
	defer conn.Release()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("set local lock_timeout = %d; select pg_advisory_lock(hashtext('vqa rebuild'))", wait.Milliseconds()))
		return err
	})
	if timedOut(err) {
		return Certificate{}, errBusy
	}
	if err != nil {
		return Certificate{}, err
	}
	defer unlock(ctx, conn.Conn())
	c, err := do(conn.Conn())
	if err != nil && ctx.Err() != nil {
		// After a cancellation the error says only that the connection is closed.
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return c, err
}

// unlock releases the lock, or closes the connection, so that a pooled connection never
// keeps it.
func unlock(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtext('vqa rebuild'))"); err != nil {
		_ = conn.Close(ctx) // this releases the lock
	}
}

const unlockTimeout = 5 * time.Second

// timedOut reports whether Postgres gave up waiting for a lock.
func timedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == lockNotAvailable || pg.Code == queryCanceled)
}

// The error codes of Postgres for a lock timeout and for a statement timeout.
const (
	lockNotAvailable = "55P03"
	queryCanceled    = "57014"
)
