package projections

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// stream is the history of one aggregate, folded up to a version.
type stream struct {
	name, id string
	category fold.Aggregate
	// models are the indexes of the run's models that have rows of the stream.
	models  []int
	version int64
	state   any
}

// open returns a stream of the run in the state before its first event.
func (w *work) open(name string) (stream, error) {
	id, err := codec.ParseStreamID(name)
	if err != nil {
		return stream{}, err
	}
	category, known := fold.Named(id.Category)
	if !known {
		return stream{}, fmt.Errorf("stream %s has a category that this program does not know", name)
	}
	s := stream{name: name, id: id.ID, category: category}
	for i, m := range w.models {
		if m.Category().Category() == id.Category {
			s.models = append(s.models, i)
		}
	}
	return s, nil
}

// fold folds the next events.
func (s *stream) fold(events []eventstore.Recorded) (err error) {
	for i, e := range events {
		if e.Version != s.version+int64(i)+1 {
			return fmt.Errorf("stream %s: version %d follows %d", s.name, e.Version, s.version+int64(i))
		}
	}
	s.version += int64(len(events))
	s.state, err = s.category.FoldAny(s.state, events...)
	return err
}

// reader reads events grouped by stream, and decodes the parts that a fold needs. It is
// used by one goroutine.
type reader struct {
	decode func(string, []byte) (eventstore.Event, error)
	// types are the stored names read so far. There are few of them and many events, so
	// sharing the strings saves memory.
	types map[string]string
	// name and events are the current group.
	name   []byte
	events []eventstore.Recorded
	// position is the position of the last event read. last and lastVersion are its stream and version.
	position    int64
	last        []byte
	lastVersion int64
	// unreadable gets the streams with events that decode refuses. Their events are left out.
	unreadable *unreadable
}

// eventColumns are the columns that a reader needs, in its order.
const eventColumns = "stream, version, position, type, data"

// groupEvents is the largest number of events in a group.
const groupEvents = 256

// read calls each with groups of events of one stream, in the order of the rows, which have
// eventColumns. The arguments of each are valid until it returns. read returns the number
// of events.
func (r *reader) read(ctx context.Context, tx pgx.Tx, sql string, args []any, each func(name []byte, events []eventstore.Recorded) error) (int64, error) {
	// Text is the same in both formats. Numbers are read in binary.
	formats := pgx.QueryResultFormats{pgx.TextFormatCode, pgx.BinaryFormatCode, pgx.BinaryFormatCode, pgx.TextFormatCode, pgx.TextFormatCode}
	rows, err := tx.Query(ctx, sql, append([]any{formats}, args...)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	r.name, r.events, r.last = r.name[:0], r.events[:0], r.last[:0]
	var n int64
	skip := false
	for rows.Next() {
		raw := rows.RawValues()
		if string(raw[0]) != string(r.last) || n == 0 {
			r.last = append(r.last[:0], raw[0]...)
			skip = r.unreadable.has(r.last)
		}
		r.lastVersion, r.position = bigint(raw[1]), bigint(raw[2])
		n++
		if skip {
			continue
		}
		if string(raw[0]) != string(r.name) || len(r.events) == groupEvents {
			if err := r.pass(each); err != nil {
				return n, err
			}
			r.name = append(r.name[:0], raw[0]...)
		}
		event, err := r.decode(r.typeOf(raw[3]), raw[4])
		if err != nil { // of an unknown type, or with a payload that is not of its type
			r.unreadable.add(string(raw[0]), string(raw[3]))
			skip, r.events = true, r.events[:0]
			continue
		}
		r.events = append(r.events, eventstore.Recorded{Version: r.lastVersion, Event: event})
	}
	if err := rows.Err(); err != nil {
		return n, err
	}
	return n, r.pass(each)
}

func bigint(raw []byte) int64 {
	return int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // Postgres sends int64 in this form
}

// pass hands over the group and empties it.
func (r *reader) pass(each func([]byte, []eventstore.Recorded) error) error {
	if len(r.events) == 0 {
		return nil
	}
	err := each(r.name, r.events)
	clear(r.events)
	r.events = r.events[:0]
	return err
}

func (r *reader) typeOf(stored []byte) string {
	if name, ok := r.types[string(stored)]; ok {
		return name
	}
	if r.types == nil {
		r.types = map[string]string{}
	}
	name := string(stored)
	r.types[name] = name
	return name
}

// stateCache keeps the states of streams for later rounds. It is safe for concurrent use.
type stateCache struct {
	mu sync.Mutex
	of map[string]stream
}

// cachedStreams is the largest number of short streams in a stateCache. It also keeps all
// long streams, at most one per longStream events of the log.
const cachedStreams = 20_000

// keep adds a stream.
func (c *stateCache) keep(s stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[s.name] = s
}

// get returns a stream that the cache has.
func (c *stateCache) get(name string) (stream, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.of[name]
	return s, ok
}

// trim removes all short streams when there are too many. Folding them again is fast.
func (c *stateCache) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) < cachedStreams {
		return
	}
	for name, s := range c.of {
		if s.version < longStream {
			delete(c.of, name)
		}
	}
}
