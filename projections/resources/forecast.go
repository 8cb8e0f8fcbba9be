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
	// alike is how many looks at videos of the most similar length tell how closely one of
	// some length is looked at.
	alike = 8
)

// span is a time in which a node looked at a whole video, or at the first part of one.
type span struct {
	node     string
	from, to time.Time
	// videoS is how long what was looked at is, in seconds; frames is how many were.
	videoS, frames float64
}

// density is how many frames of each second are looked at in a video of a length: long
// ones are looked at less closely. Where nothing is known it is 1, as any other would do.
func density(ended []span, videoS float64) float64 {
	distance := func(s span) float64 { return math.Abs(math.Log(s.videoS / videoS)) }
	ended = slices.DeleteFunc(slices.Clone(ended), func(s span) bool { return s.videoS <= 0 || s.frames <= 0 })
	slices.SortStableFunc(ended, func(a, b span) int { return cmp.Compare(distance(a), distance(b)) })
	var frames, seconds float64
	for _, s := range ended[:min(alike, len(ended))] {
		frames, seconds = frames+s.frames, seconds+s.videoS
	}
	if seconds <= 0 {
		return 1
	}
	return frames / seconds
}

// period is a time in which a node looked at something without a break.
type period struct{ busyS, frames float64 }

// periods are those of all nodes. Analyses of a node share its engine, so what counts is
// how long any of them ran.
func periods(spans []span) []period {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.node, b.node), a.from.Compare(b.from)) })
	var all []period
	var node string
	var until time.Time
	for _, s := range spans {
		if len(all) == 0 || s.node != node || s.from.After(until) {
			all = append(all, period{})
			node, until = s.node, s.from
		}
		last := &all[len(all)-1]
		last.frames += s.frames
		if s.to.After(until) {
			last.busyS, until = last.busyS+s.to.Sub(until).Seconds(), s.to
		}
	}
	return slices.DeleteFunc(all, func(p period) bool { return p.busyS <= 0 })
}

// speed is how many frames a node looks at in a second while it looks at anything; 0 when
// nothing is known. It is the median of the periods, by frames: one that a start or an
// outage made slow does not count.
func speed(spans []span) float64 {
	all := periods(spans)
	slices.SortFunc(all, func(a, b period) int { return cmp.Compare(a.frames/a.busyS, b.frames/b.busyS) })
	total := 0.0
	for _, p := range all {
		total += p.frames
	}
	below := 0.0
	for _, p := range all {
		if below += p.frames; below > 0 && 2*below >= total {
			return p.frames / p.busyS
		}
	}
	return 0
}

// fleet is what works the queue off: nodes alike, each with its engine.
type fleet struct {
	nodes int
	// slots are how many analyses run at once on one node.
	slots int
	// speed as of the function: frames in a second, of one node.
	speed float64
}

// task is an unfinished analysis.
type task struct {
	id string
	// subject is what is looked at: the video and the model.
	subject string
	running bool
	// frames are to be looked at, all in all; done is the share that was.
	frames, done float64
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
	// frames are still to be looked at; answerS still to be waited for after that.
	frames, answerS float64
	// behind is the task that looks at the same video, -1 for none.
	behind int
	over   bool
}

// prepare says who looks, and who waits for whom.
func prepare(tasks []task) []turn {
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
			turns[i] = turn{frames: t.frames * (1 - t.done), behind: -1}
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
		if p.all[i].frames > 0 {
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
		case t.frames > 0:
			t.frames -= wait * pace
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
	case t.frames > 0 && pace <= 0, t.behind >= 0 && !p.all[t.behind].over:
		return math.Inf(1)
	case t.frames > 0:
		return t.frames / pace
	default:
		return t.answerS
	}
}
