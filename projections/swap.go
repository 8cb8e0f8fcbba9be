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

// fewEvents is the largest number of events that the swap folds while it blocks appends. It
// is about 15 milliseconds of work, longer than it takes to append them.
const fewEvents = 300

// exclusiveTimeout is the longest wait for the users of the live tables. New users wait
// behind the swap.
const exclusiveTimeout = 20 * time.Millisecond

// errBehind means that too many events were appended since the last round.
var errBehind = errors.New("too many events for a swap")

// errDiffers means that rows of events since the comparison differ.
var errDiffers = errors.New("rows differ")

// swapIn makes rounds until the tables can be swapped, then swaps them. It does not swap
// when a difference appears that is not accepted.
func (w *work) swapIn(ctx context.Context, c *Certificate, o runOptions) error {
	touched := func(tx pgx.Tx, _ string, done roundResult) error { return w.compareTouched(ctx, tx, c, o, done) }
	err := retryTimeouts(ctx, func() error {
		for range maxRounds {
			if err := w.catchUpRounds(ctx, fewEvents, touched); err != nil {
				return err
			}
			w.report(Swapping, 0, 1)
			if err := w.swap(ctx, c, o); !errors.Is(err, errBehind) {
				return err
			}
		}
		return errTooFast
	})
	if errors.Is(err, errDiffers) {
		return nil
	}
	return err
}

// compareTouched compares the rows that a round wrote. A difference ends the round. When
// differences are accepted, it is recorded instead.
func (w *work) compareTouched(ctx context.Context, tx pgx.Tx, c *Certificate, o runOptions, done roundResult) error {
	if !c.Equal {
		return nil // the difference is already recorded and accepted
	}
	differing, err := w.differing(ctx, tx, done)
	if err != nil {
		return err
	}
	for _, m := range differing {
		within := rowsOf{column: "id", values: done.touched[m.Table()]}
		if err := c.table(m.Table()).differences(ctx, tx, m, within); err != nil {
			return fmt.Errorf("compare %s: %w", m.Table(), err)
		}
		c.Equal = false
	}
	if !c.Equal && !o.accept {
		return errDiffers
	}
	return nil
}

// differing returns the models with a differing touched row. It compares all models in one
// round trip, because the swap blocks others meanwhile.
func (w *work) differing(ctx context.Context, tx pgx.Tx, done roundResult) ([]Projection, error) {
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

// swap replaces the live tables with the shadow tables in one transaction. When a lock
// takes too long it changes nothing. From the fence on it blocks appends.
func (w *work) swap(ctx context.Context, c *Certificate, o runOptions) error {
	tx, err := w.side.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // no effect after a commit
	live, made := w.tables("public"), w.tables(shadow)
	// An automatic vacuum gives way to these locks, and no other statement needs them. The
	// swap need not be durable at once: if a crash loses it, it also loses every later
	// append, none of which was confirmed.
	if _, err := tx.Exec(ctx, fmt.Sprintf(`set local lock_timeout = %d; set local synchronous_commit = off;
		lock table public.events, %s in share update exclusive mode; lock table %s in access exclusive mode`,
		quietTimeout.Milliseconds(), live, made)); err != nil {
		return err
	}
	if err := w.recordShapes(ctx, tx, w.names()); err != nil {
		return err
	}
	started := time.Now()
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
	done := newRoundResult()
	if err := w.foldEvents(ctx, tx, &done, a, w.position); err != nil {
		return err
	}
	if err := w.compareTouched(ctx, tx, c, o, done); err != nil {
		return err
	}
	if err := errors.Join(w.mayReplace(o), w.keepUnreadable(ctx, tx)); err != nil {
		return err
	}
	if err := w.exchange(ctx, tx, live); err != nil {
		return err
	}
	swapped := *c
	swapped.Swapped, swapped.SwapPosition, swapped.HeldSeconds = true, max(a.last, w.position), time.Since(started).Seconds()
	if err := w.store(ctx, tx, &swapped, w.folded+done.events); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	swapped.HeldSeconds = time.Since(started).Seconds()
	*c = swapped
	return nil
}

// names returns the names of the run's tables.
func (w *work) names() []string {
	names := make([]string, len(w.models))
	for i, m := range w.models {
		names[i] = m.Table()
	}
	return names
}

// tables lists the run's tables in a schema, for a lock statement.
func (w *work) tables(schema string) string {
	names := w.names()
	for i := range names {
		names[i] = schema + "." + names[i]
	}
	return strings.Join(names, ", ")
}

// exchange moves the tables. All statements go in one round trip, so that others wait less.
func (w *work) exchange(ctx context.Context, tx pgx.Tx, live string) error {
	var sql strings.Builder
	fmt.Fprintf(&sql, "set local statement_timeout = %d; lock table %s in access exclusive mode; set local statement_timeout = 0; create schema %s;",
		exclusiveTimeout.Milliseconds(), live, retired)
	for _, m := range w.models {
		fmt.Fprintf(&sql, "alter table public.%[1]s set schema %[2]s; alter table %[3]s.%[1]s set schema public;", m.Table(), retired, shadow)
	}
	// Without its row in run, an interrupted run is not resumed after the swap.
	fmt.Fprintf(&sql, "delete from %s.run;", shadow)
	_, err := tx.Exec(ctx, sql.String())
	return err
}
