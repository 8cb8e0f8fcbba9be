package rate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/rate"
)

var start = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func TestTake(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		count   rate.Count
		asked   int
		now     time.Time
		granted int
		want    rate.Count
	}{
		"never seen":              {rate.Count{}, 3, at(time.Second), 3, rate.Count{Start: start, Current: 3}},
		"more than remain":        {rate.Count{Start: start, Current: 8}, 3, at(time.Second), 2, rate.Count{Start: start, Current: 10}},
		"none are left":           {rate.Count{Start: start, Current: 10}, 1, at(59 * time.Second), 0, rate.Count{Start: start, Current: 10}},
		"the minute before":       {rate.Count{Start: start, Current: 10}, 9, at(90 * time.Second), 5, rate.Count{Start: at(time.Minute), Current: 5, Previous: 10}},
		"a fraction of a request": {rate.Count{Start: start, Current: 10}, 9, at(89 * time.Second), 4, rate.Count{Start: at(time.Minute), Current: 4, Previous: 10}},
		"two minutes before":      {rate.Count{Start: start, Current: 10, Previous: 10}, 20, at(2 * time.Minute), 10, rate.Count{Start: at(2 * time.Minute), Current: 10}},
		"a clock that lags":       {rate.Count{Start: start, Current: 4, Previous: 3}, 9, at(-time.Second), 3, rate.Count{Start: start, Current: 7, Previous: 3}},
		"a clock an hour ahead":   {rate.Count{Start: at(time.Hour), Current: 10}, 9, at(time.Second), 9, rate.Count{Start: start, Current: 9}},
		"a limit that was higher": {rate.Count{Start: start, Current: 90}, 1, at(70 * time.Second), 0, rate.Count{Start: at(time.Minute), Previous: 90}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, granted := tt.count.Take(tt.asked, 10, tt.now)
			require.Equal(t, tt.granted, granted)
			require.Empty(t, cmp.Diff(tt.want, got))
		})
	}
}

func TestResetIsWhenTheWindowIsEmpty(t *testing.T) {
	t.Parallel()
	require.Equal(t, at(time.Second), rate.Count{}.Reset(at(time.Second)))
	require.Equal(t, at(2*time.Minute), rate.Count{Start: start, Current: 1}.Reset(at(time.Second)))
	require.Equal(t, at(2*time.Minute), rate.Count{Start: start, Current: 1}.Reset(at(61*time.Second)))
	require.Equal(t, at(time.Minute), rate.Count{Start: start, Previous: 1}.Reset(at(time.Second)))
	require.Equal(t, at(2*time.Minute), rate.Count{Start: start, Current: 1}.Reset(at(2*time.Minute)))
}

// drawn is the count after a random history of requests, its limit, and the time at its end.
func drawn(t *rapid.T) (rate.Count, int, time.Time) {
	limit := rapid.IntRange(1, 700).Draw(t, "limit")
	now, c := start, rate.Count{}
	for range rapid.IntRange(0, 20).Draw(t, "asked") {
		now = now.Add(time.Duration(rapid.Int64Range(0, int64(30*time.Second)).Draw(t, "pause")))
		c, _ = c.Take(rapid.IntRange(1, 2*limit).Draw(t, "requests"), limit, now)
	}
	return c, limit, now
}

// Retry-After is exact: one request is granted at that time, and none a nanosecond earlier
// (docs/contract.md#retry).
func TestWaitIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, limit, now := drawn(t)
		wait := c.Wait(limit, now)
		if c.Remaining(limit, now) > 0 {
			require.Zero(t, wait)
			return
		}
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, 2*rate.Window)
		require.Positive(t, c.Remaining(limit, now.Add(wait)))
		require.Zero(t, c.Remaining(limit, now.Add(wait-1)))
	})
}

// The remaining requests never decrease while a client waits.
func TestRemainingGrowsWithTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, limit, now := drawn(t)
		before := c.Remaining(limit, now)
		for range 5 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "pause")))
			after := c.Remaining(limit, now)
			require.GreaterOrEqual(t, after, before)
			before = after
		}
		require.Equal(t, limit, c.Remaining(limit, c.Reset(now)))
	})
}

// No fixed window grants more than the limit.
func TestNoMoreThanTheLimitIsGranted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		now, c, byWindow := start, rate.Count{}, map[time.Time]int{}
		for range 60 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "pause")))
			var granted int
			c, granted = c.Take(rapid.IntRange(1, limit+1).Draw(t, "requests"), limit, now)
			byWindow[rate.Start(now)] += granted
			require.LessOrEqual(t, byWindow[rate.Start(now)], limit)
		}
	})
}
