package public_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections"
	"vqa/projections/public"
)

// BenchmarkFeed reads the feed of an account with 20,000 events, beside an account with as
// many. It reads the newest page of 20, one event by its id, and the events after the
// newest one.
func BenchmarkFeed(b *testing.B) {
	pool, err := postgres.Connect(b.Context(), storetest.Database(b, migrations.Up, migrations.Version()))
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	store := postgres.New(pool, codec.Events())
	w := &world{store: store, ids: id.NewSource(func() time.Time { return start }, rand.Reader)}
	owner, other := w.tenant(true), w.tenant(true)
	for range 40 {
		var all eventstore.Batch
		for i := range 500 {
			all.Writes = append(all.Writes, w.uploaded(owner, i).Writes[0], w.uploaded(other, i).Writes[0])
		}
		_, err := store.Append(b.Context(), all)
		require.NoError(b, err)
	}
	reader := public.NewReader(store)
	newest, position, err := reader.Latest(b.Context(), owner)
	require.NoError(b, err)
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			list, more, err := reader.Events(b.Context(), owner, public.Filter{}, projections.Page{Limit: 20})
			require.NoError(b, err)
			require.True(b, more)
			require.Len(b, list, 20)
		}
	})
	b.Run("event", func(b *testing.B) {
		for b.Loop() {
			_, err := reader.Event(b.Context(), owner, newest)
			require.NoError(b, err)
		}
	})
	b.Run("nothing new", func(b *testing.B) {
		for b.Loop() {
			list, _, err := reader.Since(b.Context(), owner, public.Filter{}, position, 100)
			require.NoError(b, err)
			require.Empty(b, list)
		}
	})
}
