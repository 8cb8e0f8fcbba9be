package projections

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
)

// Rebuilder makes read models anew from the log, and proves them, while the service
// runs. See the package documentation for how.
type Rebuilder struct {
	// Owner connects as the owner of the tables and of the log. At least four
	// connections of it are used.
	Owner *pgxpool.Pool
	// Decode turns a stored event into one of the domain.
	Decode func(stored string, data []byte) (eventstore.Event, error)
	// Role is the service's role, which may read and write the new tables.
	Role string
	// Projections are all read models.
	Projections []Projection
	// Progress is told how far the work is; nil for nobody. It is called by several
	// goroutines, one at a time.
	Progress Progress
}

// Stage is a part of a rebuild.
type Stage string

// The stages, in their order.
const (
	Folding    Stage = "folding"
	Indexing   Stage = "indexing"
	Comparing  Stage = "comparing"
	CatchingUp Stage = "catching up"
	Swapping   Stage = "swapping"
)

// Progress is told how far a stage is: so many events or tables of how many.
type Progress func(stage Stage, done, total int64)

// ErrBusy says that another rebuild is running on the same database.
var ErrBusy = errors.New("another rebuild is running")

// Rebuild makes the named read models, or all, anew and swaps them in if they are
// equal to the live ones, or in any case with accept. Rows that differ are no error:
// the certificate tells them, and whether the tables were swapped. Errors: ErrBusy; an
// unknown name; the log or the tables cannot be had. After an error the live tables
// are as they were, and the next Rebuild goes on where this one stopped.
func (r *Rebuilder) Rebuild(ctx context.Context, accept bool, names ...string) (Certificate, error) {
	return r.exclusively(ctx, busyTimeout, func(conn *pgx.Conn) (Certificate, error) {
		return r.run(ctx, conn, names, order{swap: true, accept: accept})
	})
}

// Verify proves that the named read models, or all, are what the log gives. It makes
// them anew as Rebuild does, and changes nothing.
func (r *Rebuilder) Verify(ctx context.Context, names ...string) (Certificate, error) {
	return r.exclusively(ctx, busyTimeout, func(conn *pgx.Conn) (Certificate, error) {
		return r.run(ctx, conn, names, order{})
	})
}

// Refresh makes the read models anew that were made in another shape than the
// program's, and returns their names. When another process is about it, Refresh waits.
func (r *Rebuilder) Refresh(ctx context.Context) ([]string, error) {
	if stale, err := r.stale(ctx); err != nil || len(stale) == 0 {
		return nil, err
	}
	var stale []string
	_, err := r.exclusively(ctx, 0, func(conn *pgx.Conn) (_ Certificate, err error) {
		if stale, err = r.stale(ctx); err != nil || len(stale) == 0 {
			return Certificate{}, err
		}
		var empty bool
		if err := conn.QueryRow(ctx, "select not exists (select from public.events)").Scan(&empty); err != nil {
			return Certificate{}, err
		}
		if empty {
			return Certificate{}, r.recordShapes(ctx, conn, stale)
		}
		return r.run(ctx, conn, stale, order{swap: true, accept: true})
	})
	return stale, err
}

// stale returns the read models that were made in another shape than the program's.
func (r *Rebuilder) stale(ctx context.Context) ([]string, error) {
	made, err := r.shapes(ctx)
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, p := range r.Projections {
		if made[p.Table()].Shape != p.Shape() {
			stale = append(stale, p.Table())
		}
	}
	return stale, nil
}

// order is what a run is to do beyond making and comparing.
type order struct{ swap, accept bool }

// maxRounds bounds how often a run goes after what was appended meanwhile: each
// round has less to do than the one before, unless the log grows faster than it is
// folded.
const maxRounds = 40

// run makes, compares and swaps. conn holds the lock of rebuilds.
func (r *Rebuilder) run(ctx context.Context, conn *pgx.Conn, names []string, o order) (Certificate, error) {
	models, err := r.named(names)
	if err != nil {
		return Certificate{}, err
	}
	w := &work{Rebuilder: r, conn: conn, models: models, begun: time.Now(), states: stateCache{of: map[string]stream{}}}
	if err := w.plan(ctx); err != nil {
		return Certificate{}, fmt.Errorf("planning: %w", err)
	}
	if err := w.fill(ctx); err != nil {
		return Certificate{}, fmt.Errorf("filling the shadow tables: %w", err)
	}
	if err := w.index(ctx); err != nil {
		return Certificate{}, fmt.Errorf("indexing the shadow tables: %w", err)
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

// prove compares the filled tables with the live ones, and swaps them if it may.
func (w *work) prove(ctx context.Context, o order) (Certificate, error) {
	c, err := w.compareAll(ctx)
	if err != nil {
		return c, fmt.Errorf("comparing: %w", err)
	}
	if o.swap && (c.Equal || o.accept) {
		if err := w.swapIn(ctx, &c, o); err != nil {
			return c, fmt.Errorf("swapping: %w", err)
		}
	}
	if c.Swapped {
		return c, nil // and recorded with the swap
	}
	return c, w.store(ctx, w.side, &c, w.folded)
}

// named returns the projections of some names, or all.
func (r *Rebuilder) named(names []string) ([]Projection, error) {
	if len(names) == 0 {
		return r.Projections, nil
	}
	var models []Projection
	for _, p := range r.Projections {
		if slices.Contains(names, p.Table()) {
			models = append(models, p)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(models, func(p Projection) bool { return p.Table() == n }) {
			return nil, fmt.Errorf("%q is not the name of a read model", n)
		}
	}
	return models, nil
}

// workers is how many streams of work fold at once: while one waits for Postgres
// another decodes.
func (r *Rebuilder) workers() int {
	return min(runtime.GOMAXPROCS(0)+1, int(r.Owner.Config().MaxConns)-1)
}

// leastConns are for the lock, for the rounds and for the live tables, and one more.
const leastConns = 4

// busyTimeout is how long a rebuild waits for another one: Postgres may notice only
// late that the process of an interrupted one is gone.
const busyTimeout = 10 * time.Second

// exclusively lets one rebuild run at a time. The lock is held by a connection, so it
// goes with the process. wait bounds the wait for it, 0 does not.
func (r *Rebuilder) exclusively(ctx context.Context, wait time.Duration, do func(*pgx.Conn) (Certificate, error)) (Certificate, error) {
	if most := r.Owner.Config().MaxConns; most < leastConns {
		return Certificate{}, fmt.Errorf("a rebuild needs %d connections, the pool has %d", leastConns, most)
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
		return Certificate{}, ErrBusy
	}
	if err != nil {
		return Certificate{}, err
	}
	defer unlock(ctx, conn.Conn())
	c, err := do(conn.Conn())
	if err != nil && ctx.Err() != nil {
		// A connection that was given up says only that it is closed.
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return c, err
}

// unlock ends with the connection at the latest, so that a pool never keeps the lock.
func unlock(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtext('vqa rebuild'))"); err != nil {
		_ = conn.Close(ctx) // the lock goes with it
	}
}

const unlockTimeout = 5 * time.Second

// timedOut reports that Postgres gave up to wait for a lock.
func timedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == lockNotAvailable || pg.Code == queryCanceled)
}

// The errors of Postgres for a lock and for a statement that took too long.
const (
	lockNotAvailable = "55P03"
	queryCanceled    = "57014"
)
