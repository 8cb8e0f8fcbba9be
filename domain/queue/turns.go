package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// answerCostS is the cost of an analysis that scans nothing, in seconds of video.
	answerCostS = 1
	// longS is the length in seconds from which a video counts as long. It is a choice: a scan
	// that shares the engine of two cores with two others takes about as long as its video.
	longS = 30
)

// Turns says how much work each account has started of late, in seconds of video. The zero
// value is the state of an idle service.
type Turns struct {
	// Now is the largest tag of an analysis that has started.
	Now float64
	// Until is the least tag of the next analysis of an account, by account.
	Until map[string]float64
}

// Place is a task with its place in the order of turns.
type Place struct {
	Task
	// Tag orders the tasks; the smallest starts first. It is the seconds of video that the
	// account has had and waits for before this task.
	Tag float64
	// CostS is the number of seconds of video that the task takes from its account.
	CostS float64
}

// Line returns the tasks that are not running, in the order in which they start. The order is
// total and depends only on the arguments, so all nodes agree on it.
func (t Turns) Line(tasks []Task) []Place {
	tasks = slices.Clone(tasks)
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(before(a.Running, b.Running), byCreation(a, b))
	})
	until := maps.Clone(t.Until)
	if until == nil {
		until = map[string]float64{}
	}
	scans := map[string]scan{}
	line := make([]Place, 0, len(tasks))
	for _, task := range tasks {
		cost := float64(answerCostS)
		if s, found := scans[task.Subject]; !task.Surveyed && !(found && s.serves(task)) {
			cost = max(task.Seconds, answerCostS)
			scans[task.Subject] = scan{task.StartedAt, task.Pose || found && s.pose}
		}
		if task.Running {
			continue
		}
		p := Place{Task: task, Tag: max(t.Now, until[task.AccountID]), CostS: cost}
		until[task.AccountID] = p.Tag + cost
		line = append(line, p)
	}
	slices.SortFunc(line, func(a, b Place) int {
		return cmp.Or(before(!a.Background, !b.Background), cmp.Compare(a.Tag, b.Tag), byCreation(a.Task, b.Task))
	})
	return line
}

// scan is the examination of a video for an earlier task.
type scan struct {
	// startedAt is the zero time when the scan has not started.
	startedAt time.Time
	pose      bool
}

// serves reports whether a scan also finds what another task needs. A scan looks for joints when its own
// task needs them, or one that existed when the scan started.
func (s scan) serves(t Task) bool {
	return !t.Pose || s.pose || s.startedAt.IsZero() || t.CreatedAt.Before(s.startedAt)
}

// Start records that a task of the line starts. Background tasks take no turn.
func (t *Turns) Start(p Place) {
	if p.Background {
		return
	}
	t.Now = max(t.Now, p.Tag)
	if t.Until == nil {
		t.Until = map[string]float64{}
	}
	t.Until[p.AccountID] = p.Tag + p.CostS
}

// before orders true before false.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func byCreation(a, b Task) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// long reports whether a task keeps a slot for long, by a scan or by the wait for one.
func (t Task) long() bool { return !t.Surveyed && t.Seconds > longS }

// Room is the room on a number of slots. One account never holds all slots, and long videos
// never hold all slots, unless each node has only one.
type Room struct {
	slots int
	// most is the largest number of slots of one account, and of long videos.
	most int

	running, long int
	byAccount     map[string]int
}

// NewRoom returns the room on some nodes, each with a number of slots. Both are at least 1.
func NewRoom(nodes, slots int) *Room {
	nodes, slots = max(nodes, 1), max(slots, 1)
	return &Room{slots: nodes * slots, most: nodes * max(slots-1, 1), byAccount: map[string]int{}}
}

// Admits reports whether a task may start now.
func (r *Room) Admits(t Task) bool {
	return r.running < r.slots && r.byAccount[t.AccountID] < r.most && (r.long < r.most || !t.long())
}

// Enter gives a slot to a task, even when it may not start: a node may have taken it earlier.
func (r *Room) Enter(t Task) { r.count(t, 1) }

// Leave frees the slot of a task.
func (r *Room) Leave(t Task) { r.count(t, -1) }

func (r *Room) count(t Task, n int) {
	r.running += n
	if t.long() {
		r.long += n
	}
	if r.byAccount[t.AccountID] += n; r.byAccount[t.AccountID] == 0 {
		delete(r.byAccount, t.AccountID)
	}
}
