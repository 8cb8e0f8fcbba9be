package node_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// join starts a node and returns its locks. leave ends the node.
func join(t *testing.T, pool *pgxpool.Pool, name string) (locks *node.Locks, leave func()) {
	t.Helper()
	present, leave := enter(t, pool, name)
	return node.NewLocks(pool, present), leave
}

func claim(request, body string) eventstore.Claim {
	c := eventstore.Claim{AccountID: "acct_1", Key: "k", RequestID: request, Until: minute.Add(time.Minute)}
	copy(c.RequestHash[:], body)
	return c
}

func acquire(t *testing.T, l *node.Locks, c eventstore.Claim, now time.Time) eventstore.Claimed {
	t.Helper()
	claimed, err := l.Acquire(t.Context(), c, now)
	require.NoError(t, err)
	return claimed
}

func TestOneClaimIsHeldAtATime(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	here, _ := join(t, pool, "here")
	there, leave := join(t, pool, "there")

	first := acquire(t, there, claim("req_1", "body"), minute)
	require.Equal(t, eventstore.Claimed{Held: true, RequestHash: claim("", "body").RequestHash}, first)
	require.False(t, acquire(t, there, claim("req_2", "body"), minute).Held, "on the same node")
	second := acquire(t, here, claim("req_2", "another"), minute)
	require.Equal(t, eventstore.Claimed{RequestHash: claim("", "body").RequestHash}, second, "it has the hash of the running request")
	other := claim("req_2", "body")
	other.AccountID = "acct_2"
	require.True(t, acquire(t, here, other, minute).Held, "keys belong to an account")

	require.NoError(t, here.Release(t.Context(), claim("req_2", "body")))
	require.False(t, acquire(t, here, claim("req_2", "body"), minute).Held, "only the holder releases it")
	require.NoError(t, there.Release(t.Context(), claim("req_1", "body")))
	require.True(t, acquire(t, there, claim("req_3", "body"), minute).Held)

	leave()
	require.True(t, acquire(t, here, claim("req_4", "body"), minute).Held, "its node has ended")
	require.False(t, acquire(t, here, claim("req_5", "body"), minute.Add(59*time.Second)).Held)
	renewed := claim("req_4", "body")
	renewed.Until = minute.Add(2 * time.Minute)
	held, err := here.Renew(t.Context(), renewed)
	require.NoError(t, err)
	require.True(t, held)
	require.False(t, acquire(t, here, claim("req_5", "body"), minute.Add(time.Minute)).Held, "it was renewed")
	expired := claim("req_5", "body")
	expired.Until = minute.Add(3 * time.Minute)
	require.True(t, acquire(t, here, expired, minute.Add(2*time.Minute)).Held, "it has expired")
	held, err = here.Renew(t.Context(), renewed)
	require.NoError(t, err)
	require.False(t, held, "another request holds it")
}

func TestAReceiptAnswersWhenItHasAResponse(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	locks, _ := join(t, pool, "here")
	store := postgres.New(pool, storetest.Codec())
	c := claim("req_1", "body")
	require.True(t, acquire(t, locks, c, minute).Held)
	receipt := eventstore.Receipt{AccountID: c.AccountID, Key: c.Key, RequestHash: c.RequestHash, ResourceID: "video_1", CreatedAt: minute}
	_, err := store.Append(t.Context(), eventstore.Batch{
		Writes: []eventstore.Write{{
			Stream: eventstore.StreamID{Category: "test", ID: "a"},
			Events: []eventstore.NewEvent{{Event: storetest.Noted{Text: "a", Number: 1}}},
		}},
		Receipts: []eventstore.Receipt{receipt},
	})
	require.NoError(t, err)

	running := acquire(t, locks, claim("req_2", "body"), minute)
	require.False(t, running.Held, "its response is not saved yet")
	require.Equal(t, "video_1", running.Receipt.ResourceID)
	require.NoError(t, locks.Release(t.Context(), c))
	abandoned := acquire(t, locks, claim("req_2", "another"), minute)
	require.True(t, abandoned.Held, "the request that renders the response again holds the key")
	require.Equal(t, c.RequestHash, abandoned.RequestHash)
	require.Zero(t, abandoned.Receipt.Status)

	require.NoError(t, store.SaveResponse(t.Context(), c.AccountID, c.Key, 201, []byte("{}")))
	answered := acquire(t, locks, claim("req_3", "body"), minute)
	require.False(t, answered.Held)
	require.Equal(t, 201, answered.Receipt.Status)
	n, err := locks.DeleteExpired(t.Context(), minute.Add(time.Hour), 10)
	require.NoError(t, err)
	require.Zero(t, n, "saving the response released the lock")

	later := claim("req_4", "body")
	later.Until = minute.Add(26 * time.Hour)
	again := acquire(t, locks, later, minute.Add(25*time.Hour))
	require.True(t, again.Held, "the window has passed")
	require.Nil(t, again.Receipt)
}

func TestOneOfManyClaimsSucceeds(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	here, _ := join(t, pool, "here")
	there, _ := join(t, pool, "there")
	var held atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			claimed, err := []*node.Locks{here, there}[i%2].Acquire(t.Context(), claim(fmt.Sprint("req_", i), "body"), minute)
			if err != nil {
				t.Error(err)
			}
			if claimed.Held {
				held.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, held.Load())
	n, err := here.DeleteExpired(t.Context(), minute.Add(time.Minute), 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}
