package queue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestForecastAtALaterTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := Forecast{at: at, starts: map[string]float64{"a": 4.4, "b": math.Inf(1)}, end: 10.6}
	in := func(id string, after time.Duration) any {
		s := f.StartIn(id, at.Add(after))
		if s == nil {
			return nil
		}
		return *s
	}
	require.Equal(t, []any{4, 2, 0, nil, 11}, []any{
		in("a", 0), in("a", 2*time.Second), in("a", time.Minute), in("b", 0), in("later", 0),
	})
	f.queued = []float64{4.4, math.Inf(1)}
	require.Equal(t, new(2), f.RoomIn(1, at.Add(2*time.Second)))
	require.Nil(t, f.RoomIn(2, at))
	require.Equal(t, new(11), f.RoomIn(3, at), "more places than queued tasks")
}
