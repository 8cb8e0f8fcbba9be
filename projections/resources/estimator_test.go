package resources

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/queue"
)

func TestHowLongAForecastIsUsed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	after := func(took, age time.Duration) [2]bool {
		tasks := []queue.Task{{ID: "a"}}
		f := timedForecast{Forecast: queue.Fleet{}.Forecast(tasks, queue.Turns{}, at), took: took}
		require.False(t, f.serves("new", at.Add(age)), "in a short queue one more task counts")
		for i := range manyTasks {
			tasks = append(tasks, queue.Task{ID: fmt.Sprint(i)})
		}
		f.Forecast = queue.Fleet{}.Forecast(tasks, queue.Turns{}, at)
		return [2]bool{f.serves("a", at.Add(age)), f.serves("new", at.Add(age))}
	}
	const ms = time.Millisecond
	require.Equal(t, [2]bool{true, true}, after(10*ms, 0))
	require.Equal(t, [2]bool{true, true}, after(10*ms, 59*ms))
	require.Equal(t, [2]bool{true, false}, after(10*ms, 60*ms))
	require.Equal(t, [2]bool{true, false}, after(10*ms, 199*ms))
	require.Equal(t, [2]bool{false, false}, after(10*ms, 200*ms))
	require.Equal(t, [2]bool{true, false}, after(time.Minute, 250*ms), "it took a minute to make")
	require.Equal(t, [2]bool{false, false}, after(time.Minute, time.Second))
	require.Equal(t, [2]bool{false, false}, after(time.Minute, -ms), "the clock was set back")
	require.False(t, timedForecast{}.serves("a", at), "the zero value")
}
