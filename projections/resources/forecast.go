package resources

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// answerS is what a question costs about a video that was looked at before, in seconds.
	answerS = 0.2
	// unknownLengthS stands for the length of a video when that of no other is known.
	unknownLengthS = 60
)

// span is a time in which a node looked at a whole video, or at the first part of one.
type span struct {
	node     string
	from, to time.Time
	// videoS is how much was looked at, in seconds of video.
	videoS float64
}

// speed is how many seconds of video a node looks at in a second, while it looks at
// anything; 0 when nothing is known. Analyses of a node share its engine, so what counts
// is how long any of them ran.
func speed(spans []span) float64 {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.node, b.node), a.from.Compare(b.from)) })
	var busy time.Duration
	var videoS float64
	var node string
	var until time.Time
	for _, s := range spans {
		if s.node != node {
			node, until = s.node, time.Time{}
		}
		if s.from.After(until) {
			until = s.from
		}
		if s.to.After(until) {
			busy, until = busy+s.to.Sub(until), s.to
		}
		videoS += s.videoS
	}
	if busy <= 0 {
		return 0
	}
	return videoS / busy.Seconds()
}

// fleet is what works the queue off: nodes alike, each with its engine.
type fleet struct {
	nodes int
	// slots are how many analyses run at once on one node.
	slots int
	// speed as of the function: seconds of video in a second, of one node.
	speed float64
}

// task is an unfinished analysis.
type task struct {
	id string
	// subject is what is looked at: the video and the model.
	subject string
	running bool
	// videoS is the length of the video in seconds, 0 when unknown; done is the share of it
	// that was looked at.
	videoS, done float64
	// kept is true when the video was looked at before.
	kept bool
}

// starts plays the queue and returns in how many seconds the work on each task begins, 0
// for one that runs, and last when it would on one more. It is infinite when that cannot
// be told. Tasks are in the order in which they are begun, running ones first.
//
// Looks at several videos share the engines evenly; one alone cannot use more than that of
// its node. Of the tasks about one video the first looks and the others wait for it.
func (f fleet) starts(tasks []task) []float64 {
	p := play{fleet: f, all: prepare(tasks), starts: make([]float64, len(tasks)+1)}
	slots := max(f.nodes, 1) * max(f.slots, 1)
	for i := range p.starts {
		running := i < len(tasks) && tasks[i].running
		for !running && len(p.active) >= slots {
			if !p.step() {
				for ; i < len(p.starts); i++ {
					p.starts[i] = math.Inf(1)
				}
				return p.starts
			}
		}
		p.starts[i] = p.now
		p.active = append(p.active, i)
	}
	return p.starts
}

// turn is what is left of a task.
type turn struct {
	// videoS is still to be looked at; answerS still to be waited for after that.
	videoS, answerS float64
	// behind is the task that looks at the same video, -1 for none.
	behind int
	over   bool
}

// prepare says who looks, and who waits for whom.
func prepare(tasks []task) []turn {
	length, known := 0.0, 0
	for _, t := range tasks {
		if t.videoS > 0 {
			length, known = length+t.videoS, known+1
		}
	}
	if known > 0 {
		length /= float64(known)
	} else {
		length = unknownLengthS
	}
	looks := map[string]int{}
	turns := make([]turn, len(tasks), len(tasks)+1)
	for i, t := range tasks {
		first, taken := looks[t.subject]
		switch {
		case t.kept:
			turns[i] = turn{answerS: answerS, behind: -1}
		case taken:
			turns[i] = turn{answerS: answerS, behind: first}
		default:
			looks[t.subject] = i
			turns[i] = turn{videoS: cmp.Or(t.videoS, length) * (1 - t.done), behind: -1}
		}
	}
	return append(turns, turn{behind: -1})
}

// play is the queue at a moment.
type play struct {
	fleet
	all    []turn
	starts []float64
	now    float64
	// active are the tasks in the slots.
	active []int
}

// step goes on to the next moment at which a task ends; false when none ever does.
func (p *play) step() bool {
	looking := 0
	for _, i := range p.active {
		if p.all[i].videoS > 0 {
			looking++
		}
	}
	pace := p.speed * float64(min(looking, max(p.nodes, 1))) / float64(max(looking, 1))
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
		case t.videoS > 0:
			t.videoS -= wait * pace
		case !math.IsInf(left, 1):
			t.answerS -= wait
		}
	}
	for _, i := range ended { // all at once: what waited for one of them waits no longer
		p.all[i].over = true
	}
	p.active = slices.DeleteFunc(p.active, func(i int) bool { return p.all[i].over })
	return true
}

// left is how long a task in a slot still takes at this pace.
func (p *play) left(i int, pace float64) float64 {
	t := p.all[i]
	switch {
	case t.videoS > 0 && pace <= 0, t.behind >= 0 && !p.all[t.behind].over:
		return math.Inf(1)
	case t.videoS > 0:
		return t.videoS / pace
	default:
		return t.answerS
	}
}
