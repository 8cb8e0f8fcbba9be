package queue

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// runs returns a running task of an account of its own, about a video of 10 frames and seconds.
func runs(subject string, done float64) Task {
	return Task{ID: subject, AccountID: subject, Subject: subject, Running: true, Seconds: 10, Frames: 10, Done: done}
}

// waits returns a queued task of an account of its own, about a video of 10 frames and seconds.
func waits(subject string) Task {
	return Task{ID: subject, AccountID: subject, Subject: subject, Seconds: 10, Frames: 10}
}

// of returns a task of another account.
func of(account string, t Task) Task { t.AccountID = account; return t }

// lengthy returns a task about a long video.
func lengthy(t Task) Task { t.Seconds = longS + 1; return t }

// startsOf returns the starts of the tasks that wait, in their order, and the end.
func startsOf(f Fleet, tasks []Task) []float64 {
	for i := range tasks { // in order of creation
		tasks[i].ID, tasks[i].CreatedAt = fmt.Sprint(i), time.Unix(int64(i), 0)
	}
	var all []float64
	forecast := f.Forecast(tasks, Turns{}, time.Time{})
	for _, t := range tasks {
		if !t.Running {
			all = append(all, forecast.starts[forecast.rank[t.ID]])
		}
	}
	return append(all, forecast.starts[len(all)])
}

func TestStarts(t *testing.T) {
	t.Parallel()
	never := math.Inf(1)
	again := waits("a")
	again.Surveyed = true
	begun := runs("a", 0)
	begun.StartedAt = time.Unix(0, 0)
	posed := of("x", waits("a"))
	posed.Pose = true
	one := Fleet{Nodes: 1, Slots: 1, FramesPerS: 2}
	for name, tt := range map[string]struct {
		fleet Fleet
		tasks []Task
		want  []float64
	}{
		"nothing to do":                   {one, nil, []float64{0}},
		"one after the other":             {one, []Task{waits("a"), waits("b")}, []float64{0, 5, 10}},
		"running one is half done":        {one, []Task{runs("a", 0.5), waits("b")}, []float64{2.5, 7.5}},
		"slots share the engine":          {Fleet{1, 2, 2}, []Task{waits("a"), waits("b"), waits("c")}, []float64{0, 0, 10, 10}},
		"a new task shares the engine":    {Fleet{1, 2, 2}, []Task{runs("a", 0.5), runs("b", 0), waits("c")}, []float64{5, 10}},
		"nodes do not share":              {Fleet{2, 1, 2}, []Task{waits("a"), waits("b"), waits("c")}, []float64{0, 0, 5, 5}},
		"one scan for all of a video":     {one, []Task{waits("a"), waits("a"), waits("a")}, []float64{0, 5, 5 + answerS, 5 + 2*answerS}},
		"waiting for a scan takes a slot": {Fleet{1, 3, 2}, []Task{runs("a", 0), waits("a"), waits("b"), waits("c")}, []float64{0, 0, 10, 10}},
		"joints after the scan":           {Fleet{1, 2, 2}, []Task{begun, posed, waits("b")}, []float64{0, 5, 15}},
		"joints take a turn":              {Fleet{1, 3, 2}, []Task{begun, posed, posed, waits("b")}, []float64{0, 10, 0, 10}},
		"a surveyed video":                {one, []Task{again, again}, []float64{0, answerS, 2 * answerS}},
		"unknown speed":                   {Fleet{1, 1, 0}, []Task{waits("a"), waits("b")}, []float64{0, never, never}},
		"surveyed, unknown speed":         {Fleet{1, 1, 0}, []Task{again, again}, []float64{0, answerS, 2 * answerS}},
		"no living node":                  {Fleet{0, 0, 2}, []Task{waits("a"), waits("b")}, []float64{0, 5, 10}},
		"more running tasks than slots":   {one, []Task{runs("a", 0), runs("b", 0), waits("c")}, []float64{10, 15}},
		"the turn of another account":     {one, []Task{runs("a", 0), of("a", waits("b")), of("a", waits("c")), waits("d")}, []float64{5, 15, 10, 20}},
		"one account leaves a slot":       {Fleet{1, 2, 2}, []Task{waits("a"), of("a", waits("b"))}, []float64{0, 5, 5}},
		"long videos leave a slot":        {Fleet{1, 2, 2}, []Task{lengthy(waits("a")), lengthy(waits("b")), waits("c")}, []float64{0, 10, 0, 10}},
	} {
		got := startsOf(tt.fleet, tt.tasks)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
