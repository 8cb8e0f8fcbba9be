package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Noted is an event of the suite.
type Noted struct {
	Text   string `json:"text"`
	Number int    `json:"number"`
}

// Closed is another event of the suite.
type Closed struct {
	At time.Time `json:"at"`
}

// EventType returns the stored name.
func (Noted) EventType() string { return "storetest.noted" }

// EventType returns the stored name.
func (Closed) EventType() string { return "storetest.closed" }

// Codec returns the codec of the suite's events. The store under test must use it.
func Codec() *codec.Codec {
	return codec.New(
		codec.Register[Noted]("storetest.noted"),
		codec.Register[Closed]("storetest.closed"),
	)
}

// limit bounds a test of the suite. Only a test that hangs reaches it.
const limit = time.Minute

// Run checks that a store satisfies eventstore.Store. open returns an empty store made with Codec. It
// is called once for each test. The tests run in parallel.
func Run(t *testing.T, open func(t *testing.T) eventstore.Store) {
	tests := map[string]func(*testing.T, context.Context, eventstore.Store){
		"events come back as they were given":               roundTrip,
		"versions are without gaps, positions ascend":       versions,
		"a stale version is a conflict":                     conflicts,
		"a batch is recorded wholly or not at all":          atomicity,
		"a write without events asserts the version":        assertions,
		"a malformed batch is refused":                      malformed,
		"load returns histories, also of unknown streams":   load,
		"a snapshot shortens the history":                   snapshots,
		"read pages through the log in order":               read,
		"a receipt is taken once within its window":         receipts,
		"an expired receipt is replaced":                    expiredReceipts,
		"a response is added to its receipt":                responses,
		"one of many writers at the same version wins":      oneWinner,
		"many writers of many streams lose nothing":         manyWriters,
		"overlapping batches neither hang nor lose a write": overlappingBatches,
		"random batches agree with a model":                 agreesWithModel,
		"each stream is a hash chain":                       chains,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			test(t, ctx, chaining{open(t)})
		})
	}
}

func stream(id string) eventstore.StreamID {
	return eventstore.StreamID{Category: "test", ID: id}
}

// note returns a new event with this content.
func note(text string, number int) eventstore.NewEvent {
	return eventstore.NewEvent{
		Event: Noted{Text: text, Number: number},
		Meta:  eventstore.Meta{AccountID: "acct_1", RequestID: "req_1", CorrelationID: "c", CausationID: "d", Actor: "key_1"},
	}
}

func write(id string, expected int64, events ...eventstore.NewEvent) eventstore.Write {
	return eventstore.Write{Stream: stream(id), Expected: expected, Events: events}
}

func batch(writes ...eventstore.Write) eventstore.Batch {
	return eventstore.Batch{Writes: writes}
}

func mustAppend(t *testing.T, ctx context.Context, s eventstore.Store, b eventstore.Batch) []eventstore.Recorded {
	t.Helper()
	recorded, err := s.Append(ctx, b)
	require.NoError(t, err)
	return recorded
}

// all reads the whole log in pages of the given size and checks the order of positions.
func all(t *testing.T, ctx context.Context, s eventstore.Store, page int) []eventstore.Recorded {
	t.Helper()
	var log []eventstore.Recorded
	after := int64(0)
	for {
		events, err := s.Read(ctx, after, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(events), page)
		if len(events) == 0 {
			return log
		}
		for _, e := range events {
			require.Greater(t, e.Position, after)
			after = e.Position
		}
		log = append(log, events...)
	}
}

// CheckOrder returns an error for the first event that is not the next one of its stream, or whose
// position does not ascend. events are the events of a whole log.
func CheckOrder(events []eventstore.Recorded) error {
	versions := map[eventstore.StreamID]int64{}
	position := int64(0)
	for _, e := range events {
		if e.Position <= position {
			return fmt.Errorf("position %d after %d", e.Position, position)
		}
		position = e.Position
		if e.Version != versions[e.Stream]+1 {
			return fmt.Errorf("position %d: version %d of %s after %d", e.Position, e.Version, e.Stream, versions[e.Stream])
		}
		versions[e.Stream] = e.Version
	}
	return nil
}
