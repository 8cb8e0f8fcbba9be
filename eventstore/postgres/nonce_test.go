package postgres_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// TestNonces checks that each event gets its own nonce, which the chain covers, and that the caller's
// batch stays as it is.
func TestNonces(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	batch := func(stream string) eventstore.Batch {
		return eventstore.Batch{Writes: []eventstore.Write{{
			Stream: eventstore.StreamID{Category: "test", ID: stream}, Events: []eventstore.NewEvent{{Event: storetest.Noted{}}, {Event: storetest.Noted{}}},
		}}}
	}
	plain := postgres.New(pool, storetest.Codec())
	store := postgres.New(pool, storetest.Codec(), postgres.WithNonces(rand.Reader))
	without, err := plain.Append(t.Context(), batch("a"))
	require.NoError(t, err)
	require.Empty(t, without[0].Meta.Nonce)
	given := batch("b")
	with, err := store.Append(t.Context(), given)
	require.NoError(t, err)
	require.Regexp(t, "^[0-9a-f]{32}$", with[0].Meta.Nonce)
	require.NotEqual(t, with[0].Meta.Nonce, with[1].Meta.Nonce)
	require.Empty(t, given.Writes[0].Events[0].Meta.Nonce)
	loaded, err := store.LoadAll(t.Context(), given.Writes[0].Stream)
	require.NoError(t, err)
	require.Equal(t, with, loaded)

	broken := postgres.New(pool, storetest.Codec(), postgres.WithNonces(iotest.ErrReader(errors.New("no entropy"))))
	_, err = broken.Append(t.Context(), batch("c"))
	require.ErrorContains(t, err, "no entropy")
}
