package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
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
	// Missing rows stand only in the rebuilt table; a changed row counts here and in
	// Surplus.
	Missing int64 `json:"missing"`
	// Surplus rows stand only in the live table.
	Surplus int64 `json:"surplus"`
}

// Equal is true when the rebuilt table is the live one, row for row.
func (d Difference) Equal() bool { return d.Missing == 0 && d.Surplus == 0 }

// Rebuilder makes read models anew from the log.
type Rebuilder struct {
	// Owner is a connection as the owner of the tables.
	Owner *pgxpool.Pool
	Log   Log
	// Role is the service's role, which may read and write the new tables.
	Role        string
	Projections []Projection
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
	if err := r.prepare(ctx, conn.Conn()); err != nil {
		return nil, fmt.Errorf("preparing the shadow tables: %w", err)
	}
	position, err := r.fill(ctx, conn.Conn(), progress)
	if err != nil {
		return nil, err
	}
	return r.swap(ctx, conn.Conn(), position)
}

func (r *Rebuilder) prepare(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, "select pg_try_advisory_lock(hashtext('vqa rebuild'))").Scan(&mine); err != nil {
			return err
		}
		if !mine {
			return errors.New("another rebuild is running")
		}
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
	})
}

// fill folds everything that is recorded by now.
func (r *Rebuilder) fill(ctx context.Context, conn *pgx.Conn, progress Progress) (int64, error) {
	total, err := r.Log.Head(ctx)
	if err != nil {
		return 0, err
	}
	var position int64
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
	if _, err := tx.Exec(ctx, "set local search_path = "+shadow); err != nil {
		return err
	}
	for _, p := range r.Projections {
		if err := p.Apply(ctx, tx, events); err != nil {
			return err
		}
	}
	return nil
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
		}
		_, err := tx.Exec(ctx, "drop schema "+shadow+"; select pg_advisory_unlock(hashtext('vqa rebuild'))")
		return err
	})
	return differences, err
}

// compare counts the rows that only one of the two tables has. Rows are compared as
// text, because json has no equality.
func compare(ctx context.Context, tx pgx.Tx, table string) (Difference, error) {
	d := Difference{Table: table}
	sql := fmt.Sprintf(`
		with fresh as (select t::text from %[1]s.%[2]s t), live as (select t::text from public.%[2]s t)
		select (select count(*) from fresh),
		       (select count(*) from (select * from fresh except all select * from live) m),
		       (select count(*) from (select * from live except all select * from fresh) s)`, shadow, table)
	err := tx.QueryRow(ctx, sql).Scan(&d.Rows, &d.Missing, &d.Surplus)
	return d, err
}
