package projections

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"vqa/eventstore"
)

// pieceEvents is the number of events that a worker reads at once. It bounds the worker's
// memory, together with the state of one stream.
const pieceEvents = chunkEvents

// longStream is the number of events from which the state of a stream is kept until the end
// of the run. Folding such a stream again would delay a later round.
const longStream = 1000

// fill folds all chunks up to the run's position, several at the same time.
func (w *work) fill(ctx context.Context) error {
	// Large chunks come first. A large chunk at the end would keep one worker busy alone.
	slices.SortStableFunc(w.chunks, func(a, b chunk) int { return cmp.Compare(b.events, a.events) })
	queue := make(chan chunk, len(w.chunks))
	for _, c := range w.chunks {
		queue <- c
	}
	close(queue)
	workers, ctx := errgroup.WithContext(ctx)
	for range min(w.workers(), len(w.chunks)) {
		workers.Go(func() error {
			return w.Owner.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				f, err := w.newFiller(ctx, conn.Conn())
				for c := range queue {
					if err != nil {
						return err
					}
					err = f.fill(ctx, c)
				}
				return err
			})
		})
	}
	return workers.Wait()
}

// filler folds chunks into the shadow tables. It is used by one goroutine.
type filler struct {
	*work
	conn *pgx.Conn
	// copies are the rows of each model that are not written yet.
	copies []*copying
	reader reader
}

func (w *work) newFiller(ctx context.Context, conn *pgx.Conn) (*filler, error) {
	f := &filler{work: w, conn: conn, reader: reader{decode: w.Decode, unreadable: &w.unreadable}}
	for _, m := range w.models {
		c, err := newCopying(ctx, conn, m)
		if err != nil {
			return nil, err
		}
		f.copies = append(f.copies, c)
	}
	return f, nil
}

// fill folds a chunk and marks it as done, in one transaction.
func (f *filler) fill(ctx context.Context, c chunk) error {
	return pgx.BeginFunc(ctx, f.conn, func(tx pgx.Tx) error {
		// If the server crashes, the rows and the mark are lost together.
		if _, err := tx.Exec(ctx, "set local synchronous_commit = off"); err != nil {
			return err
		}
		var s stream
		f.reader.last, f.reader.lastVersion = []byte(c.lower), 0
		for more := true; more; {
			var err error
			if s, more, err = f.piece(ctx, tx, c, s); err != nil {
				return err
			}
			for _, rows := range f.copies {
				if err := rows.flush(ctx); err != nil {
					return err
				}
			}
		}
		if err := f.unreadable.save(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "update "+shadow+".chunks set done = true where n = $1", c.n)
		return err
	})
}

// piece folds the next events of a chunk, after the last event that was read. s is the stream before
// them. It returns the last stream and whether more events may follow.
func (f *filler) piece(ctx context.Context, tx pgx.Tx, c chunk, s stream) (stream, bool, error) {
	args := []any{string(f.reader.last), f.reader.lastVersion, f.position, pieceEvents}
	below := ""
	if c.upper != nil {
		args, below = append(args, *c.upper), " and stream < $5"
	}
	n, err := f.reader.read(ctx, tx, `
		select `+eventColumns+` from public.events
		 where (stream, version) > ($1, $2) and position <= $3`+below+" and "+f.ofCategories()+`
		 order by stream, version limit $4`, args, func(name []byte, events []eventstore.Recorded) error {
		if s.category == nil || s.name != string(name) {
			if err := f.finishStream(s); err != nil {
				return err
			}
			var err error
			if s, err = f.open(string(name)); err != nil {
				return err
			}
		}
		if err := s.fold(events); err != nil {
			return err
		}
		return f.entries(s, events)
	})
	if err != nil {
		return s, false, err
	}
	f.report(Folding, n, f.total)
	if n == pieceEvents {
		return s, true, nil
	}
	return s, false, f.finishStream(s)
}

// finishStream writes the rows of a stream that was folded to its end.
func (f *filler) finishStream(s stream) error {
	if s.state == nil {
		return nil
	}
	if s.version >= longStream {
		f.states.keep(s)
	}
	for _, i := range s.models {
		m := f.models[i]
		rows, err := m.Rows(s.id, s.state)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Table(), err)
		}
		for _, row := range rows {
			if err := f.copies[i].add(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries writes the rows of single events.
func (f *filler) entries(s stream, events []eventstore.Recorded) error {
	for _, i := range s.models {
		m := f.models[i]
		for _, e := range events {
			if row, ok := m.Entry(e); ok {
				if err := f.copies[i].add(row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
