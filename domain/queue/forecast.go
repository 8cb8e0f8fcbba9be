package queue

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Forecast says in which order, and when, the work on the tasks of a queue begins.
type Forecast struct {
	at time.Time
	// line has the waiting tasks in the order of their turns, and rank the index of each by
	// its id.
	line []Place
	rank map[string]int
	// starts are the seconds from at until the work on each place of the line begins, and
	// until one more task of any account could begin. It is nil when they are not known.
	starts []float64
	// sorted are the starts of the line in ascending order.
	sorted []float64
	// turns are the turns after the line has started.
	turns Turns
}

// NewForecast returns a forecast of the order alone. It knows no start.
func NewForecast(tasks []Task, turns Turns, at time.Time) Forecast {
	f := Forecast{at: at, line: turns.Line(tasks), turns: Turns{turns.Now, maps.Clone(turns.Until)}, rank: map[string]int{}}
	if f.turns.Until == nil {
		f.turns.Until = map[string]float64{}
	}
	for i, p := range f.line {
		f.rank[p.ID] = i
		if !p.Background {
			f.turns.Until[p.AccountID] = p.Tag + p.CostS
		}
	}
	return f
}

// Forecast simulates the work on the tasks from the time at.
func (f Fleet) Forecast(tasks []Task, turns Turns, at time.Time) Forecast {
	made := NewForecast(tasks, turns, at)
	running := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return !t.Running })
	made.starts = f.starts(running, made.line)
	made.sorted = slices.Sorted(slices.Values(made.starts[:len(made.line)]))
	return made
}

// At returns the time for which the forecast was made.
func (f Forecast) At() time.Time { return f.at }

// Len returns the number of waiting tasks in the forecast.
func (f Forecast) Len() int { return len(f.line) }

// Has reports whether a waiting task is part of the forecast.
func (f Forecast) Has(id string) bool {
	_, ok := f.rank[id]
	return ok
}

// Place returns the position of a waiting task, at least 1, and the whole seconds from now
// until its work begins, or nil when that is not known. A task that is newer than the forecast
// gets the place that its account has next.
func (f Forecast) Place(id, accountID string, background bool, now time.Time) (position int, startS *int) {
	i, ok := f.rank[id]
	if !ok {
		i = f.place(accountID, background)
	}
	return i + 1, f.left(f.start(f.starts, i), now)
}

// place returns the index in the line of the next task of an account.
func (f Forecast) place(accountID string, background bool) int {
	if background {
		return len(f.line)
	}
	tag := max(f.turns.Now, f.turns.Until[accountID])
	i, _ := slices.BinarySearchFunc(f.line, tag, func(p Place, tag float64) int {
		if p.Background || p.Tag > tag {
			return 1
		}
		return -1 // older tasks with the same tag start first
	})
	return i
}

// RoomIn returns the whole seconds from now until the given number of queued tasks (at
// least 1) has started. It returns nil when that is not known.
func (f Forecast) RoomIn(places int, now time.Time) *int {
	if places <= len(f.sorted) {
		return f.left(f.start(f.sorted, places-1), now)
	}
	return f.left(f.start(f.starts, len(f.line)), now)
}

// start returns an element of some starts, infinite when starts are not known.
func (f Forecast) start(starts []float64, i int) float64 {
	if f.starts == nil {
		return math.Inf(1)
	}
	return starts[i]
}

// left returns the whole seconds from now until a start, or nil when it is infinite.
func (f Forecast) left(start float64, now time.Time) *int {
	if math.IsInf(start, 1) {
		return nil
	}
	return new(int(math.Round(max(start-now.Sub(f.at).Seconds(), 0))))
}
