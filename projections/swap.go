package projections

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// fewEvents is how many events the swap may fold while it holds appends back: some 15
// milliseconds of work, and more than are appended in that time.
const fewEvents = 300

// exclusiveTimeout bounds the wait for those who use the live tables. New ones wait
// behind it.
const exclusiveTimeout = 20 * time.Millisecond

// errBehind says that too much was appended since the last round for a swap.
var errBehind = errors.New("too many events for a swap")

// errDiffers says that rows differ that the events since the comparison touched.
var errDiffers = errors.New("rows differ")

// swapIn goes after the log until the tables can be swapped, and swaps them, unless a
// difference shows that is not accepted.
func (w *work) swapIn(ctx context.Context, c *Certificate, o order) error {
	touched := func(tx pgx.Tx, _ string, done caught) error { return w.compareTouched(ctx, tx, c, o, done) }
	err := persistently(ctx, func() error {
		for range maxRounds {
			if err := w.keepUp(ctx, fewEvents, touched); err != nil {
				return err
			}
			w.tell(Swapping, 0, 1)
			if err := w.swap(ctx, c, o); !errors.Is(err, errBehind) {
				return err
			}
		}
		return errOutrun
	})
	if errors.Is(err, errDiffers) {
		return nil
	}
	return err
}

// compareTouched compares the rows that a round wrote. A difference ends the round, or is
// noted when differences are accepted.
func (w *work) compareTouched(ctx context.Context, tx pgx.Tx, c *Certificate, o order, done caught) error {
	if !c.Equal {
		return nil // it is accepted, whatever else there is
	}
	differing, err := w.differing(ctx, tx, done)
	if err != nil {
		return err
	}
	for _, m := range differing {
		within := rowsOf{column: "id", values: done.touched[m.Table()]}
		if err := c.table(m.Table()).differences(ctx, tx, m, within); err != nil {
			return fmt.Errorf("comparing %s: %w", m.Table(), err)
		}
		c.Equal = false
	}
	if !c.Equal && !o.accept {
		return errDiffers
	}
	return nil
}

// differing returns the models of which a touched row differs. It asks for all in one
// round trip, because the swap holds others back meanwhile.
func (w *work) differing(ctx context.Context, tx pgx.Tx, done caught) ([]Projection, error) {
	var differing []Projection
	trip := &pgx.Batch{}
	for _, m := range w.models {
		if ids := done.touched[m.Table()]; len(ids) > 0 {
			from, args := pairs(m, rowsOf{column: "id", values: ids})
			trip.Queue("select exists (select "+from+")", args...).QueryRow(func(row pgx.Row) error {
				var differs bool
				err := row.Scan(&differs)
				if differs {
					differing = append(differing, m)
				}
				return err
			})
		}
	}
	if trip.Len() == 0 {
		return nil, nil
	}
	return differing, tx.SendBatch(ctx, trip).Close()
}

// swap puts the shadow tables in the place of the live ones in one transaction, which
// waits for no lock for long, or does nothing. From the fence on it holds appends back.
func (w *work) swap(ctx context.Context, c *Certificate, o order) error {
	tx, err := w.side.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing after a commit
	live, made := w.tables("public"), w.tables(shadow)
	// An automatic vacuum gives way to these locks, and nobody else meets them. A swap
	// that a crash loses was followed by no append that was told to be recorded.
	if _, err := tx.Exec(ctx, fmt.Sprintf(`set local lock_timeout = %d; set local synchronous_commit = off;
		lock table public.events, %s in share update exclusive mode; lock table %s in access exclusive mode`,
		quietTimeout.Milliseconds(), live, made)); err != nil {
		return err
	}
	if err := w.recordShapes(ctx, tx, w.names()); err != nil {
		return err
	}
	begun := time.Now()
	if err := fence(ctx, tx); err != nil {
		return err
	}
	a, err := w.read(ctx, tx, w.position, math.MaxInt64, fewEvents+1)
	if err != nil {
		return err
	}
	if a.n > fewEvents {
		return errBehind
	}
	done := newCaught()
	if err := w.absorb(ctx, tx, &done, a, w.position); err != nil {
		return err
	}
	if err := w.compareTouched(ctx, tx, c, o, done); err != nil {
		return err
	}
	if err := w.exchange(ctx, tx, live); err != nil {
		return err
	}
	swapped := *c
	swapped.Swapped, swapped.SwapPosition, swapped.HeldSeconds = true, max(a.last, w.position), time.Since(begun).Seconds()
	if err := w.store(ctx, tx, &swapped, w.folded+done.events); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	swapped.HeldSeconds = time.Since(begun).Seconds()
	*c = swapped
	return nil
}

// names are the run's tables.
func (w *work) names() []string {
	names := make([]string, len(w.models))
	for i, m := range w.models {
		names[i] = m.Table()
	}
	return names
}

// tables lists the run's tables in a schema.
func (w *work) tables(schema string) string {
	names := w.names()
	for i := range names {
		names[i] = schema + "." + names[i]
	}
	return strings.Join(names, ", ")
}

// exchange moves the tables. It is sent whole, so that nobody waits for round trips.
func (w *work) exchange(ctx context.Context, tx pgx.Tx, live string) error {
	var sql strings.Builder
	fmt.Fprintf(&sql, "set local statement_timeout = %d; lock table %s in access exclusive mode; set local statement_timeout = 0; create schema %s;",
		exclusiveTimeout.Milliseconds(), live, retired)
	for _, m := range w.models {
		fmt.Fprintf(&sql, "alter table public.%[1]s set schema %[2]s; alter table %[3]s.%[1]s set schema public;", m.Table(), retired, shadow)
	}
	// An interrupted run is not gone on with after its swap.
	fmt.Fprintf(&sql, "delete from %s.run;", shadow)
	_, err := tx.Exec(ctx, sql.String())
	return err
}
