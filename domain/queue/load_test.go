package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpeed(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC) }
	period := func(node string, from, to int, frames float64) LoadPeriod {
		return LoadPeriod{node, at(from), at(to), 10, frames}
	}
	for name, tt := range map[string]struct {
		periods []LoadPeriod
		want    float64
	}{
		"nothing":                     {nil, 0},
		"no time":                     {[]LoadPeriod{period("a", 1, 1, 5)}, 0},
		"no frames":                   {[]LoadPeriod{period("a", 1, 5, 0)}, 0},
		"one":                         {[]LoadPeriod{period("a", 0, 5, 10)}, 2},
		"idle time does not count":    {[]LoadPeriod{period("a", 50, 55, 10), period("a", 0, 5, 10)}, 2},
		"two at the same time":        {[]LoadPeriod{period("a", 0, 10, 10), period("a", 0, 10, 10)}, 2},
		"one inside another":          {[]LoadPeriod{period("a", 0, 10, 15), period("a", 2, 4, 5)}, 2},
		"one overlaps another":        {[]LoadPeriod{period("a", 0, 6, 10), period("a", 4, 10, 10)}, 2},
		"nodes have their own engine": {[]LoadPeriod{period("a", 0, 10, 20), period("b", 0, 10, 20)}, 2},
		"a slow start is left out":    {[]LoadPeriod{period("a", 0, 10, 1), period("a", 20, 25, 10), period("a", 30, 35, 10)}, 2},
		"most frames decide":          {[]LoadPeriod{period("a", 0, 5, 10), period("a", 10, 15, 10), period("a", 20, 30, 40)}, 4},
	} {
		require.InDelta(t, tt.want, Speed(tt.periods), 1e-9, name)
	}
}

func TestSamplingRate(t *testing.T) {
	t.Parallel()
	var completed []LoadPeriod
	for range neighbors {
		completed = append(completed, LoadPeriod{VideoS: 10, Frames: 20}, LoadPeriod{VideoS: 3600, Frames: 1800}, LoadPeriod{VideoS: 30})
	}
	require.InDelta(t, 2, SamplingRate(completed, 30), 1e-9, "from the short ones")
	require.InDelta(t, 0.5, SamplingRate(completed, 10_000), 1e-9, "from the long ones")
	require.InDelta(t, 220.0/130, SamplingRate([]LoadPeriod{{VideoS: 10, Frames: 100}, {VideoS: 120, Frames: 120}}, 60), 1e-9, "from all, when there are few")
	require.InDelta(t, 1, SamplingRate(nil, 60), 0)
	require.InDelta(t, 1, SamplingRate([]LoadPeriod{{VideoS: 0, Frames: 5}}, 60), 0, "a period without a length does not count")
}
