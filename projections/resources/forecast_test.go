package resources

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// runs and waits are tasks about videos of their own, of 10 frames.
func runs(subject string, done float64) task {
	return task{id: subject, subject: subject, running: true, frames: 10, done: done}
}

func waits(subject string) task { return task{id: subject, subject: subject, frames: 10} }

func TestStartsOfAQueue(t *testing.T) {
	t.Parallel()
	never := math.Inf(1)
	again := waits("a")
	again.kept = true
	one := fleet{nodes: 1, slots: 1, speed: 2}
	for name, tt := range map[string]struct {
		fleet fleet
		tasks []task
		want  []float64
	}{
		"nothing to do":                   {one, nil, []float64{0}},
		"one after the other":             {one, []task{waits("a"), waits("b")}, []float64{0, 5, 10}},
		"what runs is half done":          {one, []task{runs("a", 0.5), waits("b")}, []float64{0, 2.5, 7.5}},
		"slots share the engine":          {fleet{1, 2, 2}, []task{waits("a"), waits("b"), waits("c")}, []float64{0, 0, 10, 10}},
		"and share with who comes next":   {fleet{1, 2, 2}, []task{runs("a", 0.5), runs("b", 0), waits("c")}, []float64{0, 0, 5, 10}},
		"nodes do not share":              {fleet{2, 1, 2}, []task{waits("a"), waits("b"), waits("c")}, []float64{0, 0, 5, 5}},
		"one look for all of a video":     {one, []task{waits("a"), waits("a"), waits("a")}, []float64{0, 5, 5 + answerS, 5 + 2*answerS}},
		"who waits for a look has a slot": {fleet{1, 2, 2}, []task{waits("a"), waits("a"), waits("b")}, []float64{0, 0, 5, 5 + answerS}},
		"a video looked at before":        {one, []task{again, again}, []float64{0, answerS, 2 * answerS}},
		"a speed that is not known":       {fleet{1, 1, 0}, []task{waits("a"), waits("b")}, []float64{0, never, never}},
		"what needs no speed":             {fleet{1, 1, 0}, []task{again, again}, []float64{0, answerS, 2 * answerS}},
		"nobody lives":                    {fleet{0, 0, 2}, []task{waits("a"), waits("b")}, []float64{0, 5, 10}},
		"more run than there are slots":   {one, []task{runs("a", 0), runs("b", 0), waits("c")}, []float64{0, 0, 10, 15}},
	} {
		got := tt.fleet.starts(tt.tasks)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// crowd draws a fleet and what it has to do: every third video is asked about more than
// once, and some were looked at before.
func crowd(t *rapid.T) (fleet, []task) {
	f := fleet{
		nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), slots: rapid.IntRange(1, 4).Draw(t, "slots"),
		speed: rapid.Float64Range(0.1, 50).Draw(t, "speed"),
	}
	running := rapid.IntRange(0, f.nodes*f.slots).Draw(t, "running")
	n := rapid.IntRange(0, 30).Draw(t, "tasks")
	tasks := make([]task, n)
	for i := range tasks {
		subject := rapid.IntRange(0, 40).Draw(t, "subject")
		tasks[i] = task{
			id: fmt.Sprint(i), subject: fmt.Sprint(subject), frames: float64(1 + subject*subject), kept: subject%7 == 0,
			running: i < running,
		}
		if tasks[i].running {
			tasks[i].done = rapid.Float64Range(0, 1).Draw(t, "done")
		}
	}
	return f, tasks
}

// looks are what is to be looked at for the first n tasks, in frames each.
func looks(tasks []task, n int) (frames []float64) {
	seen := map[string]bool{}
	for _, t := range tasks[:n] {
		if !t.kept && !seen[t.subject] {
			seen[t.subject] = true
			frames = append(frames, t.frames*(1-t.done))
		}
	}
	slices.Sort(frames)
	return frames
}

func sum(all []float64) (total float64) {
	for _, x := range all {
		total += x
	}
	return total
}

func TestLawsOfAForecast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, tasks := crowd(t)
		starts := f.starts(tasks)
		require.Len(t, starts, len(tasks)+1)
		const rounding = 1e-6
		for i, at := range starts {
			require.False(t, math.IsNaN(at) || math.IsInf(at, 0) || at < 0, "%v", starts)
			if i > 0 && at < starts[i-1] {
				t.Fatalf("the order is not kept: %v", starts)
			}
			if i < f.nodes*f.slots {
				require.Zero(t, at, "there is a slot for it")
			}
			// All that is before it, one after the other on one node, is the longest wait; the
			// shortest is that of all nodes, for all but the most that may still go on.
			before := looks(tasks, i)
			require.LessOrEqual(t, at, sum(before)/f.speed+float64(i)*answerS+rounding)
			ended := before[:max(len(before)-(f.nodes*f.slots-1), 0)]
			require.GreaterOrEqual(t, at, sum(ended)/f.speed/float64(f.nodes)-rounding)
		}
		// A single slot does exactly that.
		if f.nodes*f.slots == 1 && len(tasks) > 0 {
			waiting := 0.0
			seen := map[string]bool{}
			for i, task := range tasks {
				require.InDelta(t, waiting, starts[i], rounding)
				if task.kept || seen[task.subject] {
					waiting += answerS
				} else {
					waiting += task.frames * (1 - task.done) / f.speed
				}
				seen[task.subject] = seen[task.subject] || !task.kept
			}
		}
	})
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC) }
	look := func(node string, from, to int, frames float64) span { return span{node, at(from), at(to), 10, frames} }
	for name, tt := range map[string]struct {
		spans []span
		want  float64
	}{
		"nothing":                     {nil, 0},
		"no time":                     {[]span{look("a", 1, 1, 5)}, 0},
		"no frames":                   {[]span{look("a", 1, 5, 0)}, 0},
		"one":                         {[]span{look("a", 0, 5, 10)}, 2},
		"idle time does not count":    {[]span{look("a", 50, 55, 10), look("a", 0, 5, 10)}, 2},
		"at once, they share":         {[]span{look("a", 0, 10, 10), look("a", 0, 10, 10)}, 2},
		"one within another":          {[]span{look("a", 0, 10, 15), look("a", 2, 4, 5)}, 2},
		"one half over another":       {[]span{look("a", 0, 6, 10), look("a", 4, 10, 10)}, 2},
		"nodes have their own engine": {[]span{look("a", 0, 10, 20), look("b", 0, 10, 20)}, 2},
		"a slow start is left out":    {[]span{look("a", 0, 10, 1), look("a", 20, 25, 10), look("a", 30, 35, 10)}, 2},
		"most frames decide":          {[]span{look("a", 0, 5, 10), look("a", 10, 15, 10), look("a", 20, 30, 40)}, 4},
	} {
		require.InDelta(t, tt.want, speed(tt.spans), 1e-9, name)
	}
}

func TestDensity(t *testing.T) {
	t.Parallel()
	var ended []span
	for range alike {
		ended = append(ended, span{videoS: 10, frames: 20}, span{videoS: 3600, frames: 1800}, span{videoS: 30})
	}
	require.InDelta(t, 2, density(ended, 30), 1e-9, "as the short ones")
	require.InDelta(t, 0.5, density(ended, 10_000), 1e-9, "as the long ones")
	require.InDelta(t, 220.0/130, density([]span{{videoS: 10, frames: 100}, {videoS: 120, frames: 120}}, 60), 1e-9, "as all, when there are few")
	require.InDelta(t, 1, density(nil, 60), 0)
	require.InDelta(t, 1, density([]span{{videoS: 0, frames: 5}}, 60), 0, "one of no length tells nothing")
}

func TestAForecastGoesBy(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := forecast{at: at, starts: map[string]float64{"a": 4.4, "b": math.Inf(1)}, end: 10.6}
	in := func(id string, after time.Duration) any {
		s := f.in(id, at.Add(after))
		if s == nil {
			return nil
		}
		return *s
	}
	require.Equal(t, []any{4, 2, 0, nil, 11}, []any{
		in("a", 0), in("a", 2*time.Second), in("a", time.Minute), in("b", 0), in("later", 0),
	})
	f.queue = []float64{4.4, math.Inf(1)}
	require.Equal(t, new(2), f.room(1, at.Add(2*time.Second)))
	require.Nil(t, f.room(2, at))
	require.Equal(t, new(11), f.room(3, at), "more than wait")
}

func TestHowLongAForecastServes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	after := func(took, age time.Duration) [2]bool {
		f := forecast{at: at, took: took, starts: map[string]float64{"a": 1}}
		require.False(t, f.serves("new", at.Add(age)), "in a short queue one more counts")
		for i := range many {
			f.starts[fmt.Sprint(i)] = 1
		}
		return [2]bool{f.serves("a", at.Add(age)), f.serves("new", at.Add(age))}
	}
	const ms = time.Millisecond
	require.Equal(t, [2]bool{true, true}, after(10*ms, 0))
	require.Equal(t, [2]bool{true, true}, after(10*ms, 59*ms))
	require.Equal(t, [2]bool{true, false}, after(10*ms, 60*ms))
	require.Equal(t, [2]bool{true, false}, after(10*ms, 199*ms))
	require.Equal(t, [2]bool{false, false}, after(10*ms, 200*ms))
	require.Equal(t, [2]bool{true, false}, after(time.Minute, 250*ms), "however long it took")
	require.Equal(t, [2]bool{false, false}, after(time.Minute, time.Second))
	require.Equal(t, [2]bool{false, false}, after(time.Minute, -ms), "a clock that was set back")
	require.False(t, forecast{}.serves("a", at), "none was made")
}
