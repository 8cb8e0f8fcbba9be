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
	tasks := []Task{{ID: "a", AccountID: "x", CreatedAt: at, Seconds: 9}, {ID: "b", AccountID: "x", CreatedAt: at, Seconds: 9}}
	f := NewForecast(tasks, Turns{}, at)
	f.starts, f.sorted = []float64{4.4, math.Inf(1), 10.6}, []float64{4.4, math.Inf(1)}
	in := func(id string, after time.Duration) any {
		_, s := f.Place(id, "x", false, at.Add(after))
		if s == nil {
			return nil
		}
		return *s
	}
	require.Equal(t, []any{4, 2, 0, nil, 11}, []any{
		in("a", 0), in("a", 2*time.Second), in("a", time.Minute), in("b", 0), in("later", 0),
	})
	require.Equal(t, new(2), f.RoomIn(1, at.Add(2*time.Second)))
	require.Nil(t, f.RoomIn(2, at))
	require.Equal(t, new(11), f.RoomIn(3, at), "more places than queued tasks")
}

// TestPlaceOfANewerTask gives a task that the forecast does not know the place of its account.
func TestPlaceOfANewerTask(t *testing.T) {
	t.Parallel()
	var tasks []Task
	for i, seconds := range []float64{90, 90, 90} {
		tasks = append(tasks, Task{ID: string(rune('a' + i)), Subject: string(rune('a' + i)), AccountID: "large", Seconds: seconds})
	}
	tasks = append(tasks, Task{ID: "s", Subject: "s", AccountID: "small", Seconds: 2}, Task{ID: "d", Subject: "d", Background: true, Seconds: 2})
	f := NewForecast(tasks, Turns{Now: 10, Until: map[string]float64{"medium": 150}}, time.Time{})
	position := func(account string, background bool) int {
		n, start := f.Place("newer", account, background, time.Time{})
		require.Nil(t, start, "no start is known")
		return n
	}
	// The line is a at 10, s at 10, b at 100, c at 190, and then d.
	require.Equal(t, []int{3, 3, 4, 5, 6}, []int{
		position("other", false), position("small", false), position("medium", false), position("large", false), position("", true),
	})
	require.Empty(t, f.turns.Until[""], "background tasks take no turns")
}
