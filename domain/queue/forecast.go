package queue

import (
	"math"
	"time"
)

// Forecast says when the work on each task of a queue begins.
type Forecast struct {
	at time.Time
	// starts are the seconds from at until the work on each task begins, by its id. end is
	// the same for one more task.
	starts map[string]float64
	end    float64
	// queued has the starts of the tasks that were not running, in their order.
	queued []float64
}

// Forecast simulates the work on the tasks from the time at. The tasks are in the order in
// which they start, running ones first.
func (f Fleet) Forecast(tasks []Task, at time.Time) Forecast {
	made := Forecast{at: at, starts: make(map[string]float64, len(tasks))}
	starts := f.starts(tasks)
	for i, t := range tasks {
		made.starts[t.ID] = starts[i]
		if !t.Running {
			made.queued = append(made.queued, starts[i])
		}
	}
	made.end = starts[len(tasks)]
	return made
}

// At returns the time for which the forecast was made.
func (f Forecast) At() time.Time { return f.at }

// Len returns the number of tasks in the forecast.
func (f Forecast) Len() int { return len(f.starts) }

// Has reports whether a task is part of the forecast.
func (f Forecast) Has(id string) bool {
	_, ok := f.starts[id]
	return ok
}

// StartIn returns the whole seconds from now until the work on a task begins, or nil when
// that is not known. A task that is newer than the forecast begins after all others.
func (f Forecast) StartIn(id string, now time.Time) *int {
	start, ok := f.starts[id]
	if !ok {
		start = f.end
	}
	return f.left(start, now)
}

// RoomIn returns the whole seconds from now until the given number of queued tasks (at
// least 1) has started. It returns nil when that is not known.
func (f Forecast) RoomIn(places int, now time.Time) *int {
	if places > len(f.queued) {
		return f.left(f.end, now)
	}
	return f.left(f.queued[places-1], now)
}

// left returns the whole seconds from now until a start, or nil when it is infinite.
func (f Forecast) left(start float64, now time.Time) *int {
	if math.IsInf(start, 1) {
		return nil
	}
	return new(int(math.Round(max(start-now.Sub(f.at).Seconds(), 0))))
}
