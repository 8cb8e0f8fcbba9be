package node_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// patience bounds every wait of a test.
const patience = time.Minute

// enter starts a node. leave ends it cleanly.
func enter(t *testing.T, pool *pgxpool.Pool, name string) (p *node.Presence, leave func()) {
	t.Helper()
	p, err := node.Join(t.Context(), pool, name, "host", 1, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var life sync.WaitGroup
	life.Go(func() { p.Run(ctx) })
	leave = func() { stop(); life.Wait() }
	t.Cleanup(leave)
	return p, leave
}

// lease is the current or the next lease of a node.
func lease(t *testing.T, p *node.Presence) eventstore.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := p.Lease(ctx)
	require.NoError(t, err)
	return l
}

// isAlive asks for a node or an incarnation of one.
func isAlive(t *testing.T, p *node.Presence, name string) bool {
	t.Helper()
	alive, err := p.Alive(t.Context())
	require.NoError(t, err)
	return alive(name)
}

func TestLivingNodes(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	none, err := node.Count(t.Context(), pool)
	require.NoError(t, err)
	require.Zero(t, none)
	first, _ := enter(t, pool, "node_1")
	second, leave := enter(t, pool, "node_2")
	count := func() int {
		n, err := first.Count(t.Context())
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 2, count())
	require.True(t, isAlive(t, first, "node_1"))
	require.True(t, isAlive(t, first, "node_2"))
	require.True(t, isAlive(t, first, "node_2@1"), "the incarnation of the only lease")
	require.False(t, isAlive(t, first, "node_3"))
	_, err = node.Join(t.Context(), pool, "node_2", "host", 1, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "node_2", "two nodes cannot have the same name")

	held := lease(t, second)
	require.NoError(t, held.Check())
	leave()
	require.ErrorIs(t, held.Check(), eventstore.ErrLeaseOver)
	require.ErrorIs(t, context.Cause(held.Context()), eventstore.ErrLeaseOver)
	require.Equal(t, 1, count(), "a clean stop ends the lease at once")
	require.False(t, isAlive(t, first, "node_2"))
	again, _ := enter(t, pool, "node_2")
	require.Equal(t, "node_2@2", lease(t, again).Incarnation())
}

// TestACutOffNodeStopsBeforeItsLeaseEnds cuts a node off without closing its connections.
func TestACutOffNodeStopsBeforeItsLeaseEnds(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	proxy := storetest.NewProxy(t, url)
	far, err := postgres.Connect(t.Context(), proxy.URL)
	require.NoError(t, err)
	t.Cleanup(far.Close)
	near, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(near.Close)
	cut, _ := enter(t, far, "cut")
	other, _ := enter(t, near, "other")
	before := lease(t, cut)

	proxy.Silence()
	silent := time.Now()
	select {
	case <-before.Context().Done():
	case <-time.After(patience):
		require.Fail(t, "the node still works")
	}
	stopped := time.Since(silent)
	require.True(t, isAlive(t, other, before.Incarnation()), "the node stops before another may take up its work")
	require.ErrorIs(t, before.Check(), eventstore.ErrLeaseOver)
	require.Eventually(t, func() bool { return !isAlive(t, other, "cut") }, patience, 10*time.Millisecond)
	t.Logf("the node stopped %s after the cut; its lease was over %s after the cut", stopped, time.Since(silent))

	proxy.Resume()
	after := lease(t, cut)
	require.Equal(t, "cut@2", after.Incarnation())
	require.True(t, isAlive(t, other, "cut@2"))
	require.False(t, isAlive(t, other, "cut@1"), "the work of the lost lease stays lost")
	require.Error(t, before.Check())
}

// TestALeaseThatOthersSawEndIsOver changes the lease in the database, as a clock that jumps would.
func TestALeaseThatOthersSawEndIsOver(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"forward": "update nodes set lease_until = clock_timestamp(), renewed_at = clock_timestamp() - interval '1 hour'",
		"back":    "update nodes set lease_until = lease_until + interval '1 hour', renewed_at = renewed_at + interval '1 hour'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := connect(t)
			p, _ := enter(t, pool, "node")
			before := lease(t, p)
			_, err := pool.Exec(t.Context(), sql)
			require.NoError(t, err)
			require.False(t, isAlive(t, p, "node"))
			select {
			case <-before.Context().Done():
			case <-time.After(patience):
				require.Fail(t, "the node still works")
			}
			require.Equal(t, "node@2", lease(t, p).Incarnation())
			require.True(t, isAlive(t, p, "node@2"))
		})
	}
}
