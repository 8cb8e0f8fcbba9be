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

// roundResult is the outcome of one round.
type roundResult struct {
	events int64
	// touched are the ids of the rows written, by table.
	touched map[string][]string
	// streams are the states after the round of the streams that it folded.
	streams map[string]stream
}

// roundEvents is the number of events that a round reads at once.
const roundEvents = 5000

// newEvents are events of the log after a position, by stream.
type newEvents struct {
	n int64
	// last is the position of the last event.
	last   int64
	order  []string
	events map[string][]eventstore.Recorded
}

// read reads the events after the position from, up to the position to, at most limit of
// them.
func (w *work) read(ctx context.Context, tx pgx.Tx, from, to, limit int64) (newEvents, error) {
	a := newEvents{events: map[string][]eventstore.Recorded{}}
	r := reader{decode: w.Decode, position: from, unreadable: &w.unreadable}
	var err error
	a.n, err = r.read(ctx, tx, "select "+eventColumns+` from public.events
		 where position > $1 and position <= $2 and `+w.ofCategories()+" order by position limit $3",
		[]any{from, to, limit}, func(name []byte, events []eventstore.Recorded) error {
			if _, met := a.events[string(name)]; !met {
				a.order = append(a.order, string(name))
			}
			a.events[string(name)] = append(a.events[string(name)], events...)
			return nil
		})
	a.last = r.position
	a.order = w.unreadable.without(a.order)
	return a, err
}

// catchUp folds the events after the run's position, up to the given one, into the shadow
// tables. The run advances only when tx is committed: see committed.
func (w *work) catchUp(ctx context.Context, tx pgx.Tx, to int64) (roundResult, error) {
	c := newRoundResult()
	for from := w.position; from < to; {
		a, err := w.read(ctx, tx, from, to, roundEvents)
		if err != nil {
			return c, err
		}
		if err := w.foldEvents(ctx, tx, &c, a, from); err != nil {
			return c, err
		}
		if from = a.last; a.n < roundEvents {
			break
		}
	}
	return c, nil
}

func newRoundResult() roundResult {
	return roundResult{touched: map[string][]string{}, streams: map[string]stream{}}
}

// foldEvents folds the events that follow a position.
func (w *work) foldEvents(ctx context.Context, tx pgx.Tx, c *roundResult, a newEvents, from int64) error {
	if a.n == 0 {
		return nil
	}
	if err := w.loadStates(ctx, tx, c, a.order, from); err != nil {
		return err
	}
	c.events += a.n
	a.order = w.unreadable.without(a.order) // loading may have found more
	return w.upsert(ctx, tx, c, a)
}

// loadStates loads the states of streams at a position, from earlier rounds or by folding
// the log.
func (w *work) loadStates(ctx context.Context, tx pgx.Tx, c *roundResult, names []string, at int64) error {
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
	r := reader{decode: w.Decode, unreadable: &w.unreadable}
	// The lateral join reads each stream through its index. A plain join could scan the log.
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

// upsert folds events and writes their rows as the appends did.
func (w *work) upsert(ctx context.Context, tx pgx.Tx, c *roundResult, a newEvents) error {
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

// touch records the rows that the events of a stream write.
func (w *work) touch(c *roundResult, s stream, events []eventstore.Recorded) error {
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

// advance records in tx the position that the shadow tables have reached.
func advance(ctx context.Context, tx pgx.Tx, position int64) error {
	_, err := tx.Exec(ctx, "update "+shadow+".run set position = $1", position)
	return err
}

// committed takes over the result of a round whose transaction was committed.
func (w *work) committed(c roundResult, position int64) {
	w.position = position
	for _, s := range c.streams {
		w.states.keep(s)
	}
	w.states.trim()
	w.report(CatchingUp, c.events, 0)
}

// mostEvents limits the events of a round without a comparison, and so its memory.
const mostEvents = 100_000

// round folds the events since the last round, then runs compare. Both see one snapshot,
// taken while the fence was held, so the log and the live tables agree in it. Without
// compare the round may stop early. It returns the number of folded events and the number
// of positions that it is still behind.
func (w *work) round(ctx context.Context, compare func(tx pgx.Tx, snapshot string, c roundResult) error) (n, behind int64, err error) {
	var c roundResult
	var to, head int64
	err = pgx.BeginTxFunc(ctx, w.side, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		var snapshot string
		err := w.withFence(ctx, func() error {
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
		if err := w.unreadable.save(ctx, tx); err != nil {
			return err
		}
		return advance(ctx, tx, to)
	})
	if err != nil {
		return 0, 0, err
	}
	w.committed(c, to)
	return c.events, head - to, nil
}

// The fence waits for open appends and blocks new ones. It therefore waits at most
// fenceTimeout, and tries again after a pause, for at most retryLimit.
const (
	fenceTimeout = 30 * time.Millisecond
	quietTimeout = 15 * time.Second
	retryLimit   = time.Minute
	minPause     = 20 * time.Millisecond
	maxPause     = 150 * time.Millisecond
)

// withFence runs a function while no append is running.
func (w *work) withFence(ctx context.Context, do func() error) error {
	return retryTimeouts(ctx, func() error {
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

// fence blocks appends until tx ends. It first takes a lock that blocks no appends. That
// lock makes an automatic vacuum of the log give way, which would otherwise make the fence
// time out.
func fence(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, fmt.Sprintf(`
		set local lock_timeout = %d;
		lock table public.events in share update exclusive mode;
		set local lock_timeout = %d;
		lock table public.events in share mode`, quietTimeout.Milliseconds(), fenceTimeout.Milliseconds()))
	return err
}

// retryTimeouts repeats a function while it fails because a lock was not available in time.
func retryTimeouts(ctx context.Context, try func() error) error {
	for started := time.Now(); ; {
		err := try()
		if !timedOut(err) {
			return err
		}
		if time.Since(started) > retryLimit {
			return fmt.Errorf("other transactions held the tables for more than %s: %w", retryLimit, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(minPause + rand.N(maxPause-minPause)): //nolint:gosec // jitter
		}
	}
}

// catchUpRounds makes rounds until the next one has at most few events.
func (w *work) catchUpRounds(ctx context.Context, few int64, compare func(tx pgx.Tx, snapshot string, c roundResult) error) error {
	var rounds int
	for last := int64(math.MaxInt64); rounds < maxRounds; {
		n, behind, err := w.round(ctx, compare)
		switch {
		case err != nil:
			return err
		case behind == 0 && n <= few:
			return nil
		case behind == 0 || behind >= last:
			rounds++ // a round that only reduces a long backlog does not count
		}
		last = behind
	}
	return errTooFast
}

// errTooFast means that the rebuild must run when fewer events are appended.
var errTooFast = fmt.Errorf("the log grows faster than the rebuild can read it (%d rounds); try again when fewer events are appended", maxRounds)
