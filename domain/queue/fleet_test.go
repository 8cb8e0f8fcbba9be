package queue

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// runs returns a running task about a video of 10 frames.
func runs(subject string, done float64) Task {
	return Task{ID: subject, Subject: subject, Running: true, Frames: 10, Done: done}
}

// waits returns a queued task about a video of 10 frames.
func waits(subject string) Task { return Task{ID: subject, Subject: subject, Frames: 10} }

func TestStarts(t *testing.T) {
	t.Parallel()
	never := math.Inf(1)
	again := waits("a")
	again.Surveyed = true
	one := Fleet{Nodes: 1, Slots: 1, FramesPerS: 2}
	for name, tt := range map[string]struct {
		fleet Fleet
		tasks []Task
		want  []float64
	}{
		"nothing to do":                   {one, nil, []float64{0}},
		"one after the other":             {one, []Task{waits("a"), waits("b")}, []float64{0, 5, 10}},
		"running one is half done":        {one, []Task{runs("a", 0.5), waits("b")}, []float64{0, 2.5, 7.5}},
		"slots share the engine":          {Fleet{1, 2, 2}, []Task{waits("a"), waits("b"), waits("c")}, []float64{0, 0, 10, 10}},
		"a new task shares the engine":    {Fleet{1, 2, 2}, []Task{runs("a", 0.5), runs("b", 0), waits("c")}, []float64{0, 0, 5, 10}},
		"nodes do not share":              {Fleet{2, 1, 2}, []Task{waits("a"), waits("b"), waits("c")}, []float64{0, 0, 5, 5}},
		"one scan for all of a video":     {one, []Task{waits("a"), waits("a"), waits("a")}, []float64{0, 5, 5 + answerS, 5 + 2*answerS}},
		"waiting for a scan takes a slot": {Fleet{1, 2, 2}, []Task{waits("a"), waits("a"), waits("b")}, []float64{0, 0, 5, 5 + answerS}},
		"a surveyed video":                {one, []Task{again, again}, []float64{0, answerS, 2 * answerS}},
		"unknown speed":                   {Fleet{1, 1, 0}, []Task{waits("a"), waits("b")}, []float64{0, never, never}},
		"surveyed, unknown speed":         {Fleet{1, 1, 0}, []Task{again, again}, []float64{0, answerS, 2 * answerS}},
		"no living node":                  {Fleet{0, 0, 2}, []Task{waits("a"), waits("b")}, []float64{0, 5, 10}},
		"more running tasks than slots":   {one, []Task{runs("a", 0), runs("b", 0), waits("c")}, []float64{0, 0, 10, 15}},
	} {
		got := tt.fleet.starts(tt.tasks)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// crowd draws a fleet and its tasks. Some videos have several tasks, and some are surveyed.
func crowd(t *rapid.T) (Fleet, []Task) {
	f := Fleet{
		Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), Slots: rapid.IntRange(1, 4).Draw(t, "slots"),
		FramesPerS: rapid.Float64Range(0.1, 50).Draw(t, "speed"),
	}
	running := rapid.IntRange(0, f.Nodes*f.Slots).Draw(t, "running")
	n := rapid.IntRange(0, 30).Draw(t, "tasks")
	tasks := make([]Task, n)
	for i := range tasks {
		subject := rapid.IntRange(0, 40).Draw(t, "subject")
		tasks[i] = Task{
			ID: fmt.Sprint(i), Subject: fmt.Sprint(subject), Frames: float64(1 + subject*subject), Surveyed: subject%7 == 0,
			Running: i < running,
		}
		if tasks[i].Running {
			tasks[i].Done = rapid.Float64Range(0, 1).Draw(t, "done")
		}
	}
	return f, tasks
}

// scans returns the frames to examine for each of the first n tasks that scan a video.
func scans(tasks []Task, n int) (frames []float64) {
	seen := map[string]bool{}
	for _, t := range tasks[:n] {
		if !t.Surveyed && !seen[t.Subject] {
			seen[t.Subject] = true
			frames = append(frames, t.Frames*(1-t.Done))
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

func TestLawsOfStarts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, tasks := crowd(t)
		starts := f.starts(tasks)
		require.Len(t, starts, len(tasks)+1)
		const rounding = 1e-6
		for i, at := range starts {
			require.False(t, math.IsNaN(at) || math.IsInf(at, 0) || at < 0, "%v", starts)
			if i > 0 && at < starts[i-1] {
				t.Fatalf("a task starts before an earlier one: %v", starts)
			}
			if i < f.Nodes*f.Slots {
				require.Zero(t, at, "a slot is free")
			}
			// The longest wait has all earlier scans one after the other on one node. The
			// shortest has all nodes at work, and the largest scans still in the other slots.
			before := scans(tasks, i)
			require.LessOrEqual(t, at, sum(before)/f.FramesPerS+float64(i)*answerS+rounding)
			ended := before[:max(len(before)-(f.Nodes*f.Slots-1), 0)]
			require.GreaterOrEqual(t, at, sum(ended)/f.FramesPerS/float64(f.Nodes)-rounding)
		}
		// A single slot has exactly the longest wait.
		if f.Nodes*f.Slots == 1 && len(tasks) > 0 {
			waiting := 0.0
			seen := map[string]bool{}
			for i, task := range tasks {
				require.InDelta(t, waiting, starts[i], rounding)
				if task.Surveyed || seen[task.Subject] {
					waiting += answerS
				} else {
					waiting += task.Frames * (1 - task.Done) / f.FramesPerS
				}
				seen[task.Subject] = seen[task.Subject] || !task.Surveyed
			}
		}
	})
}
