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

// granted is a count with requests in some buckets, by their age.
func granted(newest time.Time, byAge map[int]int32) rate.Count {
	c := rate.Count{Start: newest}
	for age, n := range byAge {
		c.Granted[age] = n
	}
	return c
}

func TestTake(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		count   rate.Count
		asked   int
		now     time.Time
		granted int
		want    rate.Count
	}{
		"never seen":              {rate.Count{}, 3, at(500 * time.Millisecond), 3, granted(start, map[int]int32{0: 3})},
		"more than remain":        {granted(start, map[int]int32{0: 8}), 3, at(0), 2, granted(start, map[int]int32{0: 10})},
		"none are left":           {granted(start, map[int]int32{0: 9, 60: 1}), 1, at(999 * time.Millisecond), 0, granted(start, map[int]int32{0: 9, 60: 1})},
		"a second later":          {granted(start, map[int]int32{0: 9, 60: 1}), 2, at(time.Second), 1, granted(at(time.Second), map[int]int32{0: 1, 1: 9})},
		"a minute later":          {granted(start, map[int]int32{0: 10}), 9, at(60*time.Second + 999*time.Millisecond), 0, granted(at(time.Minute), map[int]int32{60: 10})},
		"a second more":           {granted(start, map[int]int32{0: 10}), 9, at(61 * time.Second), 9, granted(at(61*time.Second), map[int]int32{0: 9})},
		"a clock that lags":       {granted(start, map[int]int32{0: 4, 9: 3}), 9, at(-time.Second), 3, granted(start, map[int]int32{0: 7, 9: 3})},
		"a clock an hour ahead":   {granted(at(time.Hour), map[int]int32{0: 10}), 9, at(time.Second), 9, granted(at(time.Second), map[int]int32{0: 9})},
		"a limit that was higher": {granted(start, map[int]int32{0: 90}), 1, at(10 * time.Second), 0, granted(at(10*time.Second), map[int]int32{10: 90})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, n := tt.count.Take(tt.asked, 10, tt.now)
			require.Equal(t, tt.granted, n)
			require.Empty(t, cmp.Diff(tt.want, got))
		})
	}
}

func TestResetIsWhenMoreRequestsAreFree(t *testing.T) {
	t.Parallel()
	require.Equal(t, at(time.Second), rate.Count{}.Reset(5, at(time.Second)))
	two := granted(at(9*time.Second), map[int]int32{0: 4, 9: 1})
	for limit, reset := range map[int]time.Duration{1: 70, 4: 70, 5: 61, 9: 61} {
		require.Equal(t, at(reset*time.Second), two.Reset(limit, at(10*time.Second)), "limit %d", limit)
	}
	require.Equal(t, at(70*time.Second), two.Reset(9, at(61*time.Second)))
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
		require.LessOrEqual(t, wait, rate.Window+rate.Bucket)
		require.Equal(t, wait, c.Reset(limit, now).Sub(now))
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
		require.Equal(t, limit, c.Remaining(limit, now.Add(rate.Window+rate.Bucket)))
		if before < limit {
			require.Greater(t, c.Remaining(limit, c.Reset(limit, now)), before)
		}
	})
}

// No 60 seconds have more requests than the limit, wherever they begin.
func TestNoMoreThanTheLimitIsGranted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		now, c := start, rate.Count{}
		var times []time.Time
		for range 60 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "pause")))
			var granted int
			c, granted = c.Take(rapid.IntRange(1, limit+1).Draw(t, "requests"), limit, now)
			for range granted {
				times = append(times, now)
			}
			if first := len(times) - 1 - limit; first >= 0 {
				require.GreaterOrEqual(t, times[len(times)-1].Sub(times[first]), rate.Window)
			}
		}
	})
}
