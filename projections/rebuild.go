package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// shadow is the schema in which tables are made anew.
const shadow = "rebuild"

// rebuildBatch is how many events one transaction of a rebuild folds.
const rebuildBatch = 2000

// Log is the part of the event store that a rebuild reads.
type Log interface {
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Recorded, error)
	// Fence waits for every open append to end and holds back new ones until tx ends.
	Fence(ctx context.Context, tx pgx.Tx) error
	// Head is the position of the last event recorded so far.
	Head(ctx context.Context) (int64, error)
}

// Progress is told how far a rebuild is: the last position folded of how many.
type Progress func(done, total int64)

// Difference is how a rebuilt table differs from the live one.
type Difference struct {
	Table string `json:"table"`
	// Rows is the number of rows of the rebuilt table.
	Rows int64 `json:"rows"`
	// Missing rows stand only in the rebuilt table.
	Missing int64 `json:"missing"`
	// Surplus rows stand only in the live table.
	Surplus int64 `json:"surplus"`
	// Changed rows stand in both and are not the same.
	Changed int64 `json:"changed"`
	// Examples are the ids of differing rows, at most ten.
	Examples []string `json:"examples,omitempty"`
}

// Equal is true when the rebuilt table is the live one, row for row.
func (d Difference) Equal() bool { return d.Missing == 0 && d.Surplus == 0 && d.Changed == 0 }

// Rebuilder makes read models anew from the log.
type Rebuilder struct {
	// Owner is a connection as the owner of the tables.
	Owner *pgxpool.Pool
	Log   Log
	// Role is the service's role, which may read and write the new tables.
	Role        string
	Projections []Projection

	// states are those of the streams folded so far.
	states map[eventstore.StreamID]any
}

// Stale returns the read models that were made in another shape than the program's.
func (r *Rebuilder) Stale(ctx context.Context) ([]string, error) {
	var stale []string
	for _, p := range r.Projections {
		var current bool
		err := r.Owner.QueryRow(ctx, "select exists (select from read_models where name = $1 and shape = $2)", p.Table(), p.Shape()).Scan(&current)
		if err != nil {
			return nil, err
		}
		if !current {
			stale = append(stale, p.Table())
		}
	}
	return stale, nil
}

// Rebuild folds the whole log into shadow tables, compares them with the live ones,
// and swaps them in, all while the service runs. Before the swap appends are held
// back for as long as the last events and the comparison take. An interrupted
// rebuild leaves the live tables as they were.
func (r *Rebuilder) Rebuild(ctx context.Context, progress Progress) ([]Difference, error) {
	conn, err := r.Owner.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if err := lock(ctx, conn.Conn()); err != nil {
		return nil, err
	}
	defer unlock(ctx, conn.Conn())
	r.states = map[eventstore.StreamID]any{}
	if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return r.prepare(ctx, tx) }); err != nil {
		return nil, fmt.Errorf("preparing the shadow tables: %w", err)
	}
	position, err := r.fill(ctx, conn.Conn(), progress)
	if err != nil {
		return nil, err
	}
	return r.swap(ctx, conn.Conn(), position)
}

// lockTimeout is how long a rebuild waits for another one: Postgres may notice only
// late that the process of an interrupted one is gone.
const lockTimeout = "10s"

// lock lets one rebuild run at a time. It is held by the connection.
func lock(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "set local lock_timeout = '"+lockTimeout+"'; select pg_advisory_lock(hashtext('vqa rebuild'))")
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == lockNotAvailable {
		return errors.New("another rebuild is running")
	}
	return err
}

// lockNotAvailable is Postgres' error of a lock that was not to be had in time.
const lockNotAvailable = "55P03"

// unlock ends with the connection at the latest, so that a pool never keeps the lock.
func unlock(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtext('vqa rebuild'))"); err != nil {
		_ = conn.Close(ctx) // the lock goes with it
	}
}

const unlockTimeout = 5 * time.Second

// prepare makes empty shadow tables in place of those that an interrupted rebuild
// left behind.
func (r *Rebuilder) prepare(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "drop schema if exists "+shadow+" cascade; create schema "+shadow); err != nil {
		return err
	}
	for _, p := range r.Projections {
		sql := fmt.Sprintf("create table %[1]s.%[2]s (like public.%[2]s including all); grant select, insert, update, delete on %[1]s.%[2]s to %[3]s",
			shadow, p.Table(), pgx.Identifier{r.Role}.Sanitize())
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// fillRounds bounds how often fill goes after what was recorded meanwhile; the swap
// folds the rest.
const fillRounds = 5

// fill folds everything that is recorded by now, and what is recorded meanwhile, until
// little is left to the swap, which holds appends back.
func (r *Rebuilder) fill(ctx context.Context, conn *pgx.Conn, progress Progress) (int64, error) {
	var position int64
	for range fillRounds {
		total, err := r.Log.Head(ctx)
		if err != nil {
			return 0, err
		}
		behind := total - position
		for position < total {
			next, err := r.step(ctx, conn, position)
			if err != nil {
				return 0, err
			}
			if next == position {
				break
			}
			position = next
			progress(min(position, total), total)
		}
		if behind < rebuildBatch {
			break
		}
	}
	for _, p := range r.Projections {
		// The planner must know the new tables from their first query on.
		if _, err := conn.Exec(ctx, "analyze "+shadow+"."+p.Table()); err != nil {
			return 0, err
		}
	}
	return position, nil
}

// step folds the next batch in a transaction of its own.
func (r *Rebuilder) step(ctx context.Context, conn *pgx.Conn, after int64) (int64, error) {
	events, err := r.Log.Read(ctx, after, rebuildBatch)
	if err != nil || len(events) == 0 {
		return after, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return r.fold(ctx, tx, events) })
	return events[len(events)-1].Position, err
}

func (r *Rebuilder) fold(ctx context.Context, tx pgx.Tx, events []eventstore.Recorded) error {
	writes, err := r.writes(events)
	if err != nil {
		return err
	}
	trip := &pgx.Batch{}
	trip.Queue("set local search_path = " + shadow)
	for _, p := range r.Projections {
		if err := p.Queue(trip, writes); err != nil {
			return err
		}
	}
	return tx.SendBatch(ctx, trip).Close()
}

// writes are the events as their appends had them: with the state after them.
func (r *Rebuilder) writes(events []eventstore.Recorded) ([]eventstore.Write, error) {
	var writes []eventstore.Write
	at := map[eventstore.StreamID]int{}
	for _, e := range events {
		category, ok := fold.Named(e.Stream.Category)
		if !ok {
			return nil, fmt.Errorf("stream %s is of no known category", e.Stream)
		}
		state, err := category.FoldAny(r.states[e.Stream], e)
		if err != nil {
			return nil, err
		}
		r.states[e.Stream] = state
		i, ok := at[e.Stream]
		if !ok {
			i = len(writes)
			at[e.Stream] = i
			writes = append(writes, eventstore.Write{Stream: e.Stream, Expected: e.Version - 1})
		}
		writes[i].Events = append(writes[i].Events, eventstore.NewEvent{Event: e.Event, Meta: e.Meta})
		writes[i].State = state
	}
	return writes, nil
}

func (r *Rebuilder) swap(ctx context.Context, conn *pgx.Conn, position int64) ([]Difference, error) {
	var differences []Difference
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := r.Log.Fence(ctx, tx); err != nil {
			return err
		}
		for {
			events, err := r.Log.Read(ctx, position, rebuildBatch)
			if err != nil {
				return err
			}
			if len(events) == 0 {
				break
			}
			if err := r.fold(ctx, tx, events); err != nil {
				return err
			}
			position = events[len(events)-1].Position
		}
		for _, p := range r.Projections {
			d, err := compare(ctx, tx, p.Table())
			if err != nil {
				return fmt.Errorf("comparing %s: %w", p.Table(), err)
			}
			differences = append(differences, d)
			if _, err := tx.Exec(ctx, fmt.Sprintf("drop table public.%[2]s; alter table %[1]s.%[2]s set schema public", shadow, p.Table())); err != nil {
				return fmt.Errorf("swapping %s: %w", p.Table(), err)
			}
			if _, err := tx.Exec(ctx, `insert into public.read_models (name, shape) values ($1, $2)
				on conflict (name) do update set shape = excluded.shape, rebuilt_at = excluded.rebuilt_at`, p.Table(), p.Shape()); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "drop schema "+shadow)
		return err
	})
	return differences, err
}

// compare finds the rows that only one of the two tables has, or that differ. Rows
// are compared as text, because json has no equality.
func compare(ctx context.Context, tx pgx.Tx, table string) (Difference, error) {
	d := Difference{Table: table}
	pairs := fmt.Sprintf("from %[1]s.%[2]s fresh full join public.%[2]s live using (id)", shadow, table)
	err := tx.QueryRow(ctx, `
		select count(fresh.id),
		       count(*) filter (where live.id is null),
		       count(*) filter (where fresh.id is null),
		       count(*) filter (where fresh.id = live.id and fresh::text <> live::text) `+pairs).
		Scan(&d.Rows, &d.Missing, &d.Surplus, &d.Changed)
	if err != nil || d.Equal() {
		return d, err
	}
	rows, err := tx.Query(ctx, "select id "+pairs+" where fresh::text is distinct from live::text order by id limit 10")
	if err != nil {
		return d, err
	}
	d.Examples, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return d, err
}
