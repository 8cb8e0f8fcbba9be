package projections

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
)

// caught is what one round folded.
type caught struct {
	events int64
	// touched are the ids of the rows written, by table.
	touched map[string][]string
	// streams are the states after it, of the streams that it went on with.
	streams map[string]stream
}

// roundEvents is how many events a round reads at once.
const roundEvents = 5000

// arrived are events of the log after a position, by stream.
type arrived struct {
	n int64
	// last is the position of the last one.
	last   int64
	order  []string
	events map[string][]eventstore.Recorded
}

// read reads the next events from one position, exclusive, to another, inclusive.
func (w *work) read(ctx context.Context, tx pgx.Tx, from, to, limit int64) (arrived, error) {
	a := arrived{events: map[string][]eventstore.Recorded{}}
	r := reader{decode: w.Decode, position: from}
	var err error
	a.n, err = r.read(ctx, tx, "select "+eventColumns+` from public.events
		 where position > $1 and position <= $2 and `+w.ofCategories("stream")+" order by position limit $3",
		[]any{from, to, limit}, func(name []byte, events []eventstore.Recorded) error {
			if _, met := a.events[string(name)]; !met {
				a.order = append(a.order, string(name))
			}
			a.events[string(name)] = append(a.events[string(name)], events...)
			return nil
		})
	a.last = r.position
	return a, err
}

// catchUp folds into the shadow tables what was appended after the run's position, up
// to another one. Its work counts only when tx is committed: see caughtUp.
func (w *work) catchUp(ctx context.Context, tx pgx.Tx, to int64) (caught, error) {
	c := newCaught()
	for from := w.position; from < to; {
		a, err := w.read(ctx, tx, from, to, roundEvents)
		if err != nil {
			return c, err
		}
		if err := w.absorb(ctx, tx, &c, a, from); err != nil {
			return c, err
		}
		if from = a.last; a.n < roundEvents {
			break
		}
	}
	return c, nil
}

func newCaught() caught {
	return caught{touched: map[string][]string{}, streams: map[string]stream{}}
}

// absorb folds events that follow a position.
func (w *work) absorb(ctx context.Context, tx pgx.Tx, c *caught, a arrived, from int64) error {
	if a.n == 0 {
		return nil
	}
	if err := w.recall(ctx, tx, c, a.order, from); err != nil {
		return err
	}
	c.events += a.n
	return w.upsert(ctx, tx, c, a)
}

// recall finds the states of streams at a position: those of earlier rounds, or folded
// again from the log.
func (w *work) recall(ctx context.Context, tx pgx.Tx, c *caught, names []string, at int64) error {
	var unknown []string
	for _, name := range names {
		if _, known := c.streams[name]; known {
			continue
		}
		if s, known := w.states.get(name); known {
			c.streams[name] = s
			continue
		}
		s, err := w.open(name)
		if err != nil {
			return err
		}
		c.streams[name] = s
		unknown = append(unknown, name)
	}
	if len(unknown) == 0 {
		return nil
	}
	r := reader{decode: w.Decode}
	// One stream after the other, by their index, however many there are.
	_, err := r.read(ctx, tx, `
		select e.stream, e.version, e.position, e.type, e.data
		  from unnest($1::text[]) as n(stream)
		 cross join lateral (select * from public.events where stream = n.stream and position <= $2 order by version offset 0) as e`,
		[]any{unknown, at}, func(name []byte, events []eventstore.Recorded) error {
			s := c.streams[string(name)]
			err := s.fold(events)
			c.streams[s.name] = s
			return err
		})
	return err
}

// upsert folds events and writes the rows they lead to, as their appends did.
func (w *work) upsert(ctx context.Context, tx pgx.Tx, c *caught, a arrived) error {
	writes := make([]eventstore.Write, 0, len(a.order))
	for _, name := range a.order {
		s, events := c.streams[name], a.events[name]
		before := s.version
		if err := s.fold(events); err != nil {
			return err
		}
		c.streams[name] = s
		write := eventstore.Write{
			Stream: eventstore.StreamID{Category: s.category.Category(), ID: s.id}, Expected: before, State: s.state,
		}
		for _, e := range events {
			write.Events = append(write.Events, eventstore.NewEvent{Event: e.Event})
		}
		writes = append(writes, write)
		if err := w.touch(c, s, events); err != nil {
			return err
		}
	}
	trip := &pgx.Batch{}
	trip.Queue("set local search_path = " + shadow)
	for _, m := range w.models {
		if err := m.Queue(trip, writes); err != nil {
			return err
		}
	}
	return tx.SendBatch(ctx, trip).Close()
}

// touch notes which rows the events of a stream lead to.
func (w *work) touch(c *caught, s stream, events []eventstore.Recorded) error {
	for _, i := range s.models {
		m := w.models[i]
		rows, err := m.Rows(s.id, s.state)
		if err != nil {
			return err
		}
		for _, e := range events {
			if row, ok := m.Entry(e); ok {
				rows = append(rows, row)
			}
		}
		for _, row := range rows {
			c.touched[m.Table()] = append(c.touched[m.Table()], row.ID)
		}
	}
	return nil
}

// advance records within tx that the shadow tables stand at a position.
func advance(ctx context.Context, tx pgx.Tx, position int64) error {
	_, err := tx.Exec(ctx, "update "+shadow+".run set position = $1", position)
	return err
}

// caughtUp takes a round over that was committed.
func (w *work) caughtUp(c caught, position int64) {
	w.position = position
	for _, s := range c.streams {
		w.states.keep(s)
	}
	w.states.trim()
	w.tell(CatchingUp, c.events, 0)
}

// mostEvents bounds a round that compares nothing, and so the memory it takes.
const mostEvents = 100_000

// round folds what was appended since the last one and compares what compare likes, all
// in one snapshot of the log and of the live tables, which agree in it because the
// fence was held when it was taken. Without compare it may stop before the end. It
// returns the number of events, and how many positions it is still behind.
func (w *work) round(ctx context.Context, compare func(tx pgx.Tx, snapshot string, c caught) error) (n, behind int64, err error) {
	var c caught
	var to, head int64
	err = pgx.BeginTxFunc(ctx, w.side, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		var snapshot string
		err := w.fenced(ctx, func() error {
			return tx.QueryRow(ctx, "select pg_export_snapshot(), (select coalesce(max(position), 0) from public.events)").Scan(&snapshot, &head)
		})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "set local synchronous_commit = off"); err != nil {
			return err
		}
		if to = head; compare == nil {
			to = min(head, w.position+mostEvents)
		}
		if c, err = w.catchUp(ctx, tx, to); err != nil {
			return err
		}
		if compare != nil {
			if err := compare(tx, snapshot, c); err != nil {
				return err
			}
		}
		return advance(ctx, tx, to)
	})
	if err != nil {
		return 0, 0, err
	}
	w.caughtUp(c, to)
	return c.events, head - to, nil
}

// The fence waits for open appends and holds new ones back meanwhile, so it waits no
// longer than fenceTimeout, and tries again after a pause, until patience is at an end.
const (
	fenceTimeout = 30 * time.Millisecond
	quietTimeout = 15 * time.Second
	patience     = time.Minute
	leastPause   = 20 * time.Millisecond
	mostPause    = 150 * time.Millisecond
)

// fenced does something while no append is under way.
func (w *work) fenced(ctx context.Context, do func() error) error {
	return persistently(ctx, func() error {
		tx, err := w.conn.Begin(ctx)
		if err != nil {
			return err
		}
		err = fence(ctx, tx)
		if err == nil {
			err = do()
		}
		return errors.Join(err, tx.Rollback(ctx))
	})
}

// fence holds back appends until tx ends. A lock that lets everybody go on is taken
// first: it makes an automatic vacuum of the log give way, which the fence itself
// would not wait for.
func fence(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, fmt.Sprintf(`
		set local lock_timeout = %d;
		lock table public.events in share update exclusive mode;
		set local lock_timeout = %d;
		lock table public.events in share mode`, quietTimeout.Milliseconds(), fenceTimeout.Milliseconds()))
	return err
}

// persistently tries something again while locks are not to be had in time.
func persistently(ctx context.Context, try func() error) error {
	for begun := time.Now(); ; {
		err := try()
		if !timedOut(err) {
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("other transactions held the tables for more than %s: %w", patience, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leastPause + rand.N(mostPause-leastPause)): //nolint:gosec // jitter
		}
	}
}

// keepUp makes rounds until few events are left for the next.
func (w *work) keepUp(ctx context.Context, few int64, compare func(tx pgx.Tx, snapshot string, c caught) error) error {
	var rounds int
	for last := int64(math.MaxInt64); rounds < maxRounds; {
		n, behind, err := w.round(ctx, compare)
		switch {
		case err != nil:
			return err
		case behind == 0 && n <= few:
			return nil
		case behind == 0 || behind >= last:
			rounds++ // a part of a long way does not count
		}
		last = behind
	}
	return errOutrun
}

// errOutrun says that nothing helps but a quieter hour.
var errOutrun = fmt.Errorf("the log grows faster than it is folded: too much was left after %d rounds", maxRounds)
