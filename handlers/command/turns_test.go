package command

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// onDatabase returns a store with its own connections, as another process has.
func onDatabase(t *testing.T, url string) *postgres.Store {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return postgres.New(pool, codec.Events())
}

// adjustOn adds a second to the balance of an account.
func adjustOn(ctx context.Context, node *Service, accountID string) error {
	return creditOn(ctx, node, accountID, credit.Grant{AccountID: accountID, TransactionID: "txn", Kind: credit.Adjustment, Seconds: 1})
}

// TestOneAccountOnTwoNodes: two nodes with eight clients on one account. Each client gets its commands done,
// while the others continue, and none is given up.
func TestOneAccountOnTwoNodes(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	nodes := []*world{newWorld(t, withStore(onDatabase(t, url))), newWorld(t, withStore(onDatabase(t, url)))}
	const clients, each = 8, 300
	var hungry, done atomic.Int64
	hungry.Store(clients)
	failures := make([]error, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := 1; hungry.Load() > 0; n++ {
				if failures[i] = adjustOn(t.Context(), nodes[i%2].Service, acct); failures[i] != nil {
					hungry.Store(0)
					return
				}
				done.Add(1)
				if n == each {
					hungry.Add(-1)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, map[string]int{"ok": clients}, tally(failures))
	require.Equal(t, done.Load(), stateOf(nodes[0], credits, acct).PostedSeconds)
}

// TestHoldEndsConflicts: another process changes the account before each append of this one, but it has to wait
// for an append that holds the account.
func TestHoldEndsConflicts(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["lock_timeout"] = "100"
	hasty, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(hasty.Close)
	other := newWorld(t, withStore(postgres.New(hasty, codec.Events())))
	require.NoError(t, adjustOn(t.Context(), other.Service, acct))

	var overtaken, waited int
	slow := &shim{Store: onDatabase(t, url), beforeAppend: func(context.Context, eventstore.Batch) error {
		if err := adjustOn(t.Context(), other.Service, acct); err != nil {
			waited++
		} else {
			overtaken++
		}
		return nil
	}}
	this := newWorld(t, withStore(slow))
	require.NoError(t, adjustOn(t.Context(), this.Service, acct))
	require.Equal(t, []int{freeTries, 1}, []int{overtaken, waited})
	require.Equal(t, int64(2+freeTries), stateOf(other, credits, acct).PostedSeconds)
}

// TestOwnLaneEnds: an account gets a lane of its own while two nodes change it, and returns to its shared lane
// afterwards.
func TestOwnLaneEnds(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	w := newWorld(t, withStore(onDatabase(t, url)))
	p := w.Pipeline
	ownLanes := func() int {
		p.mu.RLock()
		defer p.mu.RUnlock()
		return len(p.own)
	}
	require.NoError(t, adjustOn(t.Context(), w.Service, acct))
	require.Zero(t, ownLanes())
	// Another process changes the account twice while a group is decided.
	intrusions := 0
	in := w.operatorIntent(acct, "test", "")
	in.streams = []eventstore.StreamID{credits.Stream(acct)}
	require.NoError(t, p.do(t.Context(), in, func(s *session) error {
		if intrusions < freeTries {
			intrusions++
			intrude(t, w.log, credit.Grant{AccountID: acct, TransactionID: "txn", Kind: credit.Adjustment, Seconds: 1})
		}
		_, err := credits.record(s, acct, credit.Grant{AccountID: acct, TransactionID: "txn", Kind: credit.Adjustment, Seconds: 1})
		return err
	}))
	require.Eventually(t, func() bool { return ownLanes() == 1 }, 10*time.Second, time.Millisecond)
	for range aloneTurns {
		require.NoError(t, adjustOn(t.Context(), w.Service, acct))
	}
	require.Eventually(t, func() bool { return ownLanes() == 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, adjustOn(t.Context(), w.Service, acct))
	require.Equal(t, int64(1+freeTries+1+aloneTurns+1), stateOf(w, credits, acct).PostedSeconds)
}
