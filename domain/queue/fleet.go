package queue

import (
	"math"
	"slices"
	"time"
)

// answerS is how long an analysis takes, in seconds, when a stored survey answers it.
const answerS = 0.2

// Fleet is the set of nodes that work on the queue. All nodes are alike, and each has one
// engine.
type Fleet struct {
	Nodes int
	// Slots is the number of analyses that run at once on one node.
	Slots int
	// FramesPerS is the speed of one node, as Speed returns it.
	FramesPerS float64
}

// Task is an unfinished analysis.
type Task struct {
	ID, AccountID string
	CreatedAt     time.Time
	// Subject names the video and the model. Tasks with one subject share a survey.
	Subject string
	Running bool
	// StartedAt is the start of the work on a running task. It is the zero time for the others.
	StartedAt time.Time
	// Pose is true when the task needs the body joints of people.
	Pose bool
	// Background is true for an analysis of the service itself.
	Background bool
	// Seconds is the length of the video.
	Seconds float64
	// Frames is the number of frames to examine in total, and Done the share of them that
	// has been examined.
	Frames, Done float64
	// Surveyed is true when a stored survey of the video can answer the task.
	Surveyed bool
}

// starts plays the queue and returns in how many seconds the work on each place of the line
// begins. It is infinite when the speed is not known. The last element is the time at which
// the whole line has started and a slot is free.
//
// Scans of several videos share all engines evenly, but one scan uses the engine of its own
// node only. Of the tasks with one subject, the first scans the video and the others wait
// for it. The slots count as those of one large node.
func (f Fleet) starts(running []Task, line []Place) []float64 {
	tasks := slices.Clone(running)
	for _, p := range line {
		tasks = append(tasks, p.Task)
	}
	p := play{Fleet: f, tasks: tasks, all: prepare(tasks), room: NewRoom(f.Nodes, f.Slots)}
	for i := range running {
		p.start(i)
	}
	starts := make([]float64, len(line)+1)
	for i := range starts {
		starts[i] = math.Inf(1)
	}
	groups := grouped(line)
	for len(groups) > 0 || p.room.running >= p.room.slots {
		next := slices.IndexFunc(groups, func(g []int) bool { return p.room.Admits(line[g[0]].Task) })
		if next < 0 {
			if !p.step() {
				return starts
			}
			continue
		}
		i, rest := groups[next][0], groups[next][1:]
		starts[i] = p.now
		p.start(len(running) + i)
		groups = slices.Delete(groups, next, next+1)
		if len(rest) > 0 {
			at, _ := slices.BinarySearchFunc(groups, rest[0], func(g []int, i int) int { return g[0] - i })
			groups = slices.Insert(groups, at, rest)
		}
	}
	starts[len(line)] = p.now
	return starts
}

// grouped returns the indexes of a line in groups that Room treats alike, in the order of their
// first elements. A line may have thousands of tasks of one account that must wait.
func grouped(line []Place) (groups [][]int) {
	type kind struct {
		accountID string
		long      bool
	}
	at := map[kind]int{}
	for i, p := range line {
		k := kind{p.AccountID, p.long()}
		n, found := at[k]
		if !found {
			n = len(groups)
			at[k], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], i)
	}
	return groups
}

// remainder is the part of a task that is still to be done.
type remainder struct {
	// frames are still to be examined. After that, the answer takes answerS.
	frames, answerS float64
	// after is the index of the task that scans the same video, or -1.
	after int
	over  bool
}

// prepare decides which tasks scan their video, and which wait for the scan of another task first.
func prepare(tasks []Task) []remainder {
	type indexed struct {
		scan
		i int
	}
	scans := map[string]indexed{}
	all := make([]remainder, len(tasks))
	for i, t := range tasks {
		before, scanned := scans[t.Subject]
		all[i] = remainder{answerS: answerS, after: -1}
		if t.Surveyed {
			continue
		}
		if scanned {
			all[i].after = before.i
		}
		if !scanned || !before.serves(t) {
			all[i].frames = t.Frames * (1 - t.Done)
			scans[t.Subject] = indexed{scan{t.StartedAt, t.Pose || scanned && before.pose}, i}
		}
	}
	return all
}

// play is the state of the simulated queue.
type play struct {
	Fleet
	tasks []Task
	all   []remainder
	room  *Room
	// now is the simulated time in seconds.
	now float64
	// active are the indexes of the tasks that occupy slots.
	active []int
}

// start gives a slot to a task.
func (p *play) start(i int) {
	p.room.Enter(p.tasks[i])
	p.active = append(p.active, i)
}

// step moves on to the next end of a task. It returns false when no active task ever ends.
func (p *play) step() bool {
	scanning := 0
	for _, i := range p.active {
		if p.all[i].frames > 0 && !p.waits(i) {
			scanning++
		}
	}
	pace := p.FramesPerS * float64(min(scanning, max(p.Nodes, 1))) / float64(max(scanning, 1))
	wait := math.Inf(1)
	for _, i := range p.active {
		wait = min(wait, p.left(i, pace))
	}
	if math.IsInf(wait, 1) {
		return false
	}
	p.now += wait
	var ended []int
	for _, i := range p.active {
		left := p.left(i, pace)
		t := &p.all[i]
		switch {
		case left <= wait:
			ended = append(ended, i)
		case p.waits(i):
		case t.frames > 0:
			t.frames -= wait * pace
		default:
			t.answerS -= wait
		}
	}
	// Only now, because left of a later task depends on over of the one it waits for.
	for _, i := range ended {
		p.all[i].over = true
		p.room.Leave(p.tasks[i])
	}
	p.active = slices.DeleteFunc(p.active, func(i int) bool { return p.all[i].over })
	return true
}

// waits reports whether an active task waits for the scan of another one.
func (p *play) waits(i int) bool {
	after := p.all[i].after
	return after >= 0 && !p.all[after].over
}

// left returns how many seconds an active task still takes at a pace in frames per second.
func (p *play) left(i int, pace float64) float64 {
	t := p.all[i]
	switch {
	case t.frames > 0 && pace <= 0, p.waits(i):
		return math.Inf(1)
	case t.frames > 0:
		return t.frames / pace
	default:
		return t.answerS
	}
}
