package node_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/rate"
	"vqa/eventstore/node"
)

var minute = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// TestWindowsCountAsTheDomainDoes compares the SQL with rate.Count on random histories, also with clocks that lag.
func TestWindowsCountAsTheDomainDoes(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	w := node.NewWindows(pool)
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		subject, limit, now := fmt.Sprint("s", seed), 1+random.IntN(12), minute
		var want rate.Count
		for step := range 60 {
			now = now.Add(time.Duration(random.Int64N(int64(20*time.Second))) - 4*time.Second)
			var granted int
			want, granted = want.Take(1, limit, now)
			got, ok, err := w.Take(t.Context(), subject, limit, now)
			require.NoError(t, err)
			require.Equal(t, granted == 1, ok, "seed %d, step %d", seed, step)
			require.Empty(t, cmp.Diff(want, got), "seed %d, step %d", seed, step)
		}
	}
}

// TestARequestAnHourAheadIsDropped counts a request by a wrong clock, and then one request a second for
// 59 minutes.
func TestARequestAnHourAheadIsDropped(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	w := node.NewWindows(pool)
	_, ok, err := w.Take(t.Context(), "s", 600, minute.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, ok)
	want, _ := rate.Count{}.Take(1, 600, minute.Add(time.Hour))
	refused := 0
	for second := range 59 * 60 {
		now := minute.Add(time.Duration(second) * time.Second)
		got, ok, err := w.Take(t.Context(), "s", 600, now)
		require.NoError(t, err)
		want, _ = want.Take(1, 600, now)
		require.Empty(t, cmp.Diff(want, got))
		if !ok {
			refused++
		}
	}
	t.Logf("refused %d of %d requests", refused, 59*60)
	require.Zero(t, refused)

	wait, err := w.Allow(t.Context(), "poll", 5*time.Second, minute.Add(time.Hour))
	require.NoError(t, err)
	require.Zero(t, wait)
	wait, err = w.Allow(t.Context(), "poll", 5*time.Second, minute)
	require.NoError(t, err)
	require.Zero(t, wait)
	wait, err = w.Allow(t.Context(), "poll", 5*time.Second, minute.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, wait)
}

// TestWindowsAreSharedByAllNodes sends more requests than allowed, from two nodes at once and for subjects in any
// order.
func TestWindowsAreSharedByAllNodes(t *testing.T) {
	t.Parallel()
	const limit, callers, subjects = 20, 16, 5
	pool := connect(t)
	nodes := []*node.Windows{node.NewWindows(pool), node.NewWindows(pool)}
	var granted [subjects]atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			for range 20 {
				s := random.IntN(subjects)
				_, ok, err := nodes[caller%2].Take(t.Context(), fmt.Sprint("s", s), limit, minute)
				if err != nil {
					t.Error(err)
				}
				if ok {
					granted[s].Add(1)
				}
			}
		})
	}
	all.Wait()
	for s := range granted {
		require.EqualValues(t, limit, granted[s].Load(), "subject %d", s)
	}
}

func TestOnceInAnInterval(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	w := node.NewWindows(pool)
	for _, step := range []struct{ at, wait time.Duration }{
		{0, 0}, {0, 5 * time.Second}, {time.Second, 4 * time.Second}, {4999 * time.Millisecond, time.Millisecond},
		{5 * time.Second, 0}, {6 * time.Second, 4 * time.Second}, {time.Minute, 0},
	} {
		wait, err := w.Allow(t.Context(), "poll", 5*time.Second, minute.Add(step.at))
		require.NoError(t, err)
		require.Equal(t, step.wait, wait, "at %s", step.at)
	}
	wait, err := w.Allow(t.Context(), "another", 5*time.Second, minute)
	require.NoError(t, err)
	require.Zero(t, wait)
}

func TestIdleSubjectsAreForgotten(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	w := node.NewWindows(pool)
	for i, subject := range []string{"a", "b", "c", "d"} {
		_, _, err := w.Take(t.Context(), subject, 5, minute.Add(time.Duration(i)*30*time.Minute))
		require.NoError(t, err)
	}
	now := minute.Add(91 * time.Minute)
	n, err := w.DeleteIdle(t.Context(), now, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	n, err = w.DeleteIdle(t.Context(), now, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	count, _, err := w.Take(t.Context(), "d", 5, now)
	require.NoError(t, err)
	require.EqualValues(t, 1, count.Granted[60], "the request of a minute ago: %+v", count)
}

func TestWithoutADatabaseNothingIsCounted(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	w := node.NewWindows(pool)
	pool.Close()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, granted, err := w.Take(t.Context(), "s", 5, minute)
			if err == nil || granted {
				t.Errorf("granted %v without a database", granted)
			}
		})
	}
	all.Wait()
	_, err := w.Allow(t.Context(), "s", time.Second, minute)
	require.Error(t, err)
}
