package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/record"
)

const second = assemble.ClockRate

// TestTimelineFollowsTheSenderOrTheArrival reads the times from the index of the only part.
func TestTimelineFollowsTheSenderOrTheArrival(t *testing.T) {
	t.Parallel()
	type sent struct {
		rtp     int64
		arrives time.Duration
		key     bool
	}
	for name, test := range map[string]struct {
		pictures []sent
		want     []int64
		millis   int64
	}{
		"late packets":                 {[]sent{{5000, 0, true}, {8000, 900 * time.Millisecond, false}, {11000, 910 * time.Millisecond, false}}, []int64{0, 3000, 6000}, 100},
		"a pause":                      {[]sent{{0, 0, true}, {3000, time.Second / 30, false}, {60 * second, 60 * time.Second, false}}, []int64{0, 3000, 60 * second}, 61_000},
		"B-frames":                     {[]sent{{0, 0, true}, {9000, 0, false}, {3000, 0, false}, {6000, 0, false}, {12000, 0, false}}, []int64{0, 9000, 3000, 6000, 12000}, 166},
		"a new track":                  {[]sent{{second, 0, true}, {2 * second, time.Second, false}, {0, 3 * time.Second, true}, {second, 4 * time.Second, false}}, []int64{0, second, 3 * second, 4 * second}, 5000},
		"a new track at the same time": {[]sent{{0, 0, true}, {second, time.Second, false}, {0, time.Second, true}}, []int64{0, second, second + 1}, 1000},
		"a clock that jumps":           {[]sent{{0, 0, true}, {second / 2, time.Second / 2, false}, {1 << 31, time.Second, false}, {1<<31 + 3000, time.Second, false}}, []int64{0, second / 2, second, second + 3000}, 1066},
		"a clock that stands":          {[]sent{{0, 0, true}, {second / 2, time.Second / 2, false}, {second/2 + 3000, 100 * time.Second, false}}, []int64{0, second / 2, 100 * second}, 101_000},
		"a clock that goes back":       {[]sent{{10 * second, 0, true}, {5 * second, time.Second, false}}, []int64{0, second}, 2000},
		"never negative":               {[]sent{{3000, 0, true}, {0, 0, false}}, []int64{0, 0}, 33},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, newBucket(t), record.Options{PartTime: time.Hour})
			for _, p := range test.pictures {
				s.Push(assemble.Picture{Codec: assemble.H264, Key: p.key, Time: p.rtp, Data: []byte{1}, At: epoch.Add(p.arrives)})
			}
			require.NoError(t, s.Close(t.Context()))
			require.Len(t, s.told(), 1)
			entries, err := record.ParseIndex(s.bucket.content(t, s.folder+"/part-000001.index"))
			require.NoError(t, err)
			var times []int64
			for _, e := range entries {
				times = append(times, e.Time)
			}
			require.Equal(t, test.want, times)
			require.Equal(t, test.millis, s.told()[0].DurationMillis)
		})
	}
}
