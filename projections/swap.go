package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// fewEvents is how many events the swap may fold while it holds appends back: some
// milliseconds of work.
const fewEvents = 300

// exclusiveTimeout bounds the wait for those who use the live tables. New ones wait
// behind it.
const exclusiveTimeout = 25 * time.Millisecond

// errBehind says that too much was appended since the last round for a swap.
var errBehind = errors.New("too many events for a swap")

// errDiffers says that rows differ that the events since the comparison touched.
var errDiffers = errors.New("rows differ")

// swapIn goes after the log until the tables can be swapped, and swaps them, unless a
// difference shows that is not accepted.
func (w *work) swapIn(ctx context.Context, c *Certificate, o order) error {
	touched := func(tx pgx.Tx, _ string, done caught) error { return w.compareTouched(ctx, tx, c, o, done) }
	err := persistently(ctx, func() error {
		for {
			if err := w.keepUp(ctx, fewEvents, touched); err != nil {
				return err
			}
			w.tell(Swapping, 0, 1)
			if err := w.swap(ctx, c, o); !errors.Is(err, errBehind) {
				return err
			}
		}
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
	for _, m := range w.models {
		ids := done.touched[m.Table()]
		if len(ids) == 0 {
			continue
		}
		p := c.table(m.Table())
		if err := p.differences(ctx, tx, m, rowsOf{column: "id", values: ids}); err != nil {
			return fmt.Errorf("comparing %s: %w", m.Table(), err)
		}
		if p.differing() > 0 {
			c.Equal = false
			if !o.accept {
				return errDiffers
			}
		}
	}
	return nil
}

// swap puts the shadow tables in the place of the live ones in one transaction, which
// waits for no lock for long, or does nothing. From the fence on it holds appends back.
func (w *work) swap(ctx context.Context, c *Certificate, o order) error {
	conn, err := w.Owner.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing after a commit
	live, made := w.tables("public"), w.tables(shadow)
	// An automatic vacuum gives way to these, and nobody else meets them.
	if _, err := tx.Exec(ctx, fmt.Sprintf(`set local lock_timeout = %d;
		lock table public.events, %s in share update exclusive mode; lock table %s in access exclusive mode`,
		quietTimeout.Milliseconds(), live, made)); err != nil {
		return err
	}
	begun := time.Now()
	if err := fence(ctx, tx); err != nil {
		return err
	}
	var head, behind int64
	if err := tx.QueryRow(ctx, "select coalesce(max(position), $1), count(*) from public.events where position > $1", w.position).Scan(&head, &behind); err != nil {
		return err
	}
	if behind > fewEvents {
		return errBehind
	}
	done, err := w.catchUp(ctx, tx, head)
	if err != nil {
		return err
	}
	if err := w.compareTouched(ctx, tx, c, o, done); err != nil {
		return err
	}
	if err := w.exchange(ctx, tx, live); err != nil {
		return err
	}
	swapped := *c
	swapped.Swapped, swapped.SwapPosition, swapped.HeldSeconds = true, head, time.Since(begun).Seconds()
	if err := w.store(ctx, tx, &swapped, w.folded+done.events); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	*c = swapped
	return nil
}

// tables lists the run's tables in a schema.
func (w *work) tables(schema string) string {
	names := make([]string, len(w.models))
	for i, m := range w.models {
		names[i] = schema + "." + m.Table()
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
	if _, err := tx.Exec(ctx, sql.String()); err != nil {
		return err
	}
	names := make([]string, len(w.models))
	for i, m := range w.models {
		names[i] = m.Table()
	}
	return w.recordShapes(ctx, tx, names)
}
