package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/eventstore"
)

// together runs n goroutines and waits for them. It fails the test when one returns an error.
func together(t *testing.T, n int, run func(i int) error) {
	t.Helper()
	failures := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { failures[i] = run(i) })
	}
	running.Wait()
	require.NoError(t, errors.Join(failures...))
}

func oneWinner(t *testing.T, ctx context.Context, s eventstore.Store) {
	const rounds, writers = 5, 8
	for round := range rounds {
		wins := make([]int, writers)
		together(t, writers, func(i int) error {
			_, err := s.Append(ctx, batch(write("hot", int64(round), note(fmt.Sprint(i), round+1))))
			var conflict *eventstore.ConflictError
			if errors.As(err, &conflict) {
				return nil
			}
			wins[i]++
			return err
		})
		won := 0
		for _, n := range wins {
			won += n
		}
		require.Equal(t, 1, won, "round %d", round)
	}
	require.NoError(t, CheckOrder(all(t, ctx, s, 10)))
}

func manyWriters(t *testing.T, ctx context.Context, s eventstore.Store) {
	const writers, each = 8, 25
	stop := make(chan struct{})
	var seen []eventstore.Recorded
	var reader sync.WaitGroup
	var readErr error
	reader.Go(func() {
		after := int64(0)
		for last := false; ; {
			events, err := s.Read(ctx, after, 7)
			if err != nil {
				readErr = err
				return
			}
			if len(events) > 0 {
				seen = append(seen, events...)
				after = events[len(events)-1].Position
				continue
			}
			if last {
				return
			}
			select {
			case <-stop:
				last = true
			default:
			}
		}
	})
	together(t, writers, func(i int) error {
		for n := range each {
			_, err := s.Append(ctx, batch(
				write(fmt.Sprint("own", i), int64(n), note("own", n+1)),
				write(fmt.Sprint("new", i, "-", n), 0, note("new", 1))))
			if err != nil {
				return err
			}
		}
		return nil
	})
	close(stop)
	reader.Wait()
	require.NoError(t, readErr)
	require.NoError(t, CheckOrder(seen))
	require.Len(t, seen, 2*writers*each)
}

func overlappingBatches(t *testing.T, ctx context.Context, s eventstore.Store) {
	// Every writer appends to the same three streams, each in another order, and asserts a
	// fourth one. It repeats a refused append until it succeeds.
	const writers, each = 6, 6
	ids := []string{"x", "y", "z"}
	mustAppend(t, ctx, s, batch(write("held", 0, note("held", 1))))
	together(t, writers, func(i int) error {
		for range each {
			if err := addToAll(ctx, s, ids, i); err != nil {
				return err
			}
		}
		return nil
	})
	for _, id := range ids {
		events, err := s.LoadAll(ctx, stream(id))
		require.NoError(t, err)
		require.Len(t, events, writers*each)
	}
	require.NoError(t, CheckOrder(all(t, ctx, s, 50)))
}

func addToAll(ctx context.Context, s eventstore.Store, ids []string, turn int) error {
	for {
		histories, err := s.Load(ctx, stream("x"), stream("y"), stream("z"))
		if err != nil {
			return err
		}
		b := batch(write("held", 1))
		for i := range ids {
			id := ids[(i+turn)%len(ids)]
			at := histories[stream(id)].Version
			b.Writes = append(b.Writes, write(id, at, note(id, int(at)+1)))
		}
		_, err = s.Append(ctx, b)
		var conflict *eventstore.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

// agreesWithModel appends random batches and compares the store with a simple model: a slice for
// each stream.
func agreesWithModel(t *testing.T, ctx context.Context, s eventstore.Store) {
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++ // all runs share the store, so each run uses its own streams
		model := map[eventstore.StreamID]int64{}
		id := rapid.Custom(func(r *rapid.T) string {
			return fmt.Sprint(run, "-", rapid.IntRange(0, 3).Draw(r, "stream"))
		})
		for range rapid.IntRange(1, 5).Draw(r, "batches") {
			var b eventstore.Batch
			fits := true
			for _, id := range rapid.SliceOfNDistinct(id, 1, 3, rapid.ID).Draw(r, "streams") {
				off := rapid.SampledFrom([]int64{0, 0, 0, 0, 1, -1}).Draw(r, "off")
				expected := max(model[stream(id)]+off, 0)
				fits = fits && expected == model[stream(id)]
				w := write(id, expected)
				for range rapid.IntRange(0, 3).Draw(r, "events") {
					w.Events = append(w.Events, note(id, len(w.Events)))
				}
				b.Writes = append(b.Writes, w)
			}
			_, err := s.Append(ctx, b)
			var conflict *eventstore.ConflictError
			switch {
			case fits && err != nil:
				r.Fatalf("append: %v", err)
			case !fits && !errors.As(err, &conflict):
				r.Fatalf("append on a wrong version: %v", err)
			case fits:
				for _, w := range b.Writes {
					model[w.Stream] += int64(len(w.Events))
				}
			}
		}
		for id, version := range model {
			histories, err := s.Load(ctx, id)
			if err != nil || histories[id].Version != version || int64(len(histories[id].Events)) != version {
				r.Fatalf("%s: version %d with %d events instead of %d (%v)",
					id, histories[id].Version, len(histories[id].Events), version, err)
			}
		}
	})
}
