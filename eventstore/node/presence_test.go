package node_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/node"
)

func TestLivingNodes(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	join := func(name string) (p *node.Presence, leave func()) {
		p, err := node.Join(t.Context(), pool, name, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		var life sync.WaitGroup
		life.Go(func() { p.Run(ctx) })
		leave = func() { stop(); life.Wait() }
		t.Cleanup(leave)
		return p, leave
	}
	none, err := node.Count(t.Context(), pool)
	require.NoError(t, err)
	require.Zero(t, none)
	first, _ := join("node_1")
	_, leave := join("node_2")
	living := func() (n int, second bool) {
		n, err := first.Count(t.Context())
		require.NoError(t, err)
		alive, err := first.Alive(t.Context())
		require.NoError(t, err)
		require.True(t, alive("node_1"))
		require.False(t, alive("node_3"))
		return n, alive("node_2")
	}
	n, second := living()
	require.Equal(t, 2, n)
	require.True(t, second)
	_, err = node.Join(t.Context(), pool, "node_2", slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "node_2", "two nodes cannot have the same name")

	leave()
	require.Eventually(t, func() bool { n, err := first.Count(t.Context()); return err == nil && n == 1 }, 10*time.Second, 10*time.Millisecond)
	_, second = living()
	require.False(t, second)
}
