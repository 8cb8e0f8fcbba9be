package answer

import (
	"cmp"
	"fmt"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Explain is [Decide] with what the result rests on.
func Explain(q query.Query, ev evidence.Evidence, cal Calibration) Trace {
	t := &tracer{decision: decide(q, ev, cal, true), nodes: map[*node]int{}}
	t.out = Trace{
		Answer: t.Answer, Confidence: t.Confidence, Parameters: cal.Parameters,
		Times: []float64{}, Things: []TracedThing{}, Statements: []TracedStatement{}, Ruling: Ruling{Statement: -1, Decided: t.ruling.decided, Bounded: t.ruling.bounded},
	}
	if t.Scene != nil && len(t.Times) > 0 {
		t.out.Frames = len(t.Times)
		t.undecided, t.assume = newUndecided(), false // the decision has its notes already
		t.state(t.body, 0)
		t.rule()
		t.thin()
		t.draw()
	}
	t.out.Ruling.Text = t.text(q)
	return t.out
}

// tracer fills a trace.
type tracer struct {
	decision
	out Trace
	// series are those of the statements in all frames; nodes says which statement a node is.
	series [][]float64
	nodes  map[*node]int
	// peaks are the frames in which each statement is most probable, kept those of the trace.
	peaks []span
	kept  []int
}

// add appends a statement that must hold for some seconds, and returns its index.
func (t *tracer) add(text string, depth int, series []float64, seconds float64, intervals []span) int {
	at, p := t.peak(series, seconds)
	s := TracedStatement{Text: text, Depth: depth, Best: t.moment(at, p), Intervals: []Moment{}}
	for _, i := range intervals[:min(len(intervals), MaxClips)] {
		s.Intervals = append(s.Intervals, t.moment(i, t.mean(series, i)))
	}
	t.out.Statements, t.series, t.peaks = append(t.out.Statements, s), append(t.series, series), append(t.peaks, at)
	return len(t.series) - 1
}

// moment is a span with a probability.
func (t *tracer) moment(s span, p float64) Moment {
	start, end := t.times(s)
	return Moment{start, end, round4(p)}
}

func (t *tracer) mean(series []float64, s span) float64 {
	sum, width := 0.0, 0.0
	for i := s.first; i <= s.last; i++ {
		sum, width = sum+series[i]*t.cells[i], width+t.cells[i]
	}
	return sum / width
}

// state appends a statement with its parts.
func (t *tracer) state(n *node, depth int) {
	series := t.trial.series(n)
	i := t.add(inWords(n.statement), depth, series, t.seconds(n), t.intervals(series, n))
	if s := &t.out.Statements[i]; len(s.Intervals) > 0 {
		s.Lift, s.Stay = t.prior(n)
	}
	t.nodes[n] = i
	if t.counts(n) {
		t.numbers(n, depth+1)
		return
	}
	if len(n.of) == 0 {
		for _, thing := range n.things() {
			t.parts(thing, depth+1)
		}
	}
	for _, part := range n.of {
		t.state(part, depth+1)
	}
}

// counts reports whether a statement is about a number of instances.
func (t *tracer) counts(n *node) bool {
	_, number := n.statement.(query.Number)
	return number || n == t.body && t.question.Ask == query.AskCount
}

// numbers appends the series of one instance, of two, and so on, to one more than are visible.
func (t *tracer) numbers(n *node, depth int) {
	ranks := t.ranks(n.things()...)
	for k := 1; k <= maxTracedNumbers; k++ {
		i := t.add(fmt.Sprintf("at least %d at the same time", k), depth, t.atLeast(ranks, k), t.seconds(n), nil)
		if t.out.Statements[i].Best.Probability < t.cal.Yes {
			return
		}
	}
}

// parts appends a thing without its conditions, and how each condition fits the object that is most
// probably meant.
func (t *tracer) parts(thing *thing, depth int) {
	if len(thing.conditions) == 0 {
		return
	}
	bare := t.constant(0)
	t.overlay(bare, thing, thing.sureness(thing.conditions))
	t.add(phrase(query.Thing{Term: thing.Term}), depth, bare, t.cal.SecondS, nil)
	meant := make([]int, len(t.Times)) // the object, from 1
	p := t.probabilities(thing, 0, len(thing.conditions))
	for i, o := range thing.objects {
		if k := meant[o.Frame]; k == 0 || p[i] > p[k-1] {
			meant[o.Frame] = i + 1
		}
	}
	for k := range thing.conditions {
		c := &thing.conditions[k]
		fits, series := t.fits(thing, c), t.constant(0)
		for f, i := range meant {
			if i > 0 {
				series[f] = float64(fits[i-1])
			}
		}
		t.add(conditionInWords(c.Condition), depth, series, t.secondsOf(c), nil)
	}
}

func (t *tracer) secondsOf(c *condition) float64 {
	if c.row.Moment {
		return 0
	}
	return t.cal.SecondS
}

// rule names the statement that decided, the time, and its weakest part then.
func (t *tracer) rule() {
	n := t.body
	if t.question.Ask == query.AskWhether && !t.question.Always {
		n = t.decisive(n)
	}
	r := &t.out.Ruling
	r.Statement = t.nodes[n]
	parts := t.partsOf(r.Statement)
	if t.counts(n) && len(parts) > 0 {
		r.Statement, parts = parts[min(t.rank(n), len(parts))-1], nil
	}
	at := t.peaks[r.Statement]
	r.At = t.out.Statements[r.Statement].Best
	if t.question.Always { // the worst second counts
		at, _ = t.peak(not(t.series[r.Statement]), t.cal.SecondS)
		r.At = t.moment(at, t.mean(t.series[r.Statement], at))
	}
	lowest := 1.
	for _, k := range parts {
		if p := t.mean(t.series[k], at); p < lowest {
			lowest, r.Weakest = p, t.out.Statements[k].Text
		}
	}
}

// partsOf are the statements one deeper that belong to one.
func (t *tracer) partsOf(i int) []int {
	var out []int
	depth := t.out.Statements[i].Depth
	for k := i + 1; k < len(t.out.Statements) && t.out.Statements[k].Depth > depth; k++ {
		if t.out.Statements[k].Depth == depth+1 {
			out = append(out, k)
		}
	}
	return out
}

// rank is the number of instances that a statement is about.
func (t *tracer) rank(n *node) int {
	s, ok := n.statement.(query.Number)
	switch {
	case !ok:
		return max(1, *t.ruling.count)
	case s.Quantity.Op == query.MoreThan || s.Quantity.Op == query.AtMost:
		return s.Quantity.Value + 1
	default:
		return max(1, s.Quantity.Value)
	}
}

// decisive is the part whose truth is that of a statement.
func (t *tracer) decisive(n *node) *node {
	p, shown := t.truth(n)
	switch n.statement.(type) {
	case query.Not:
		return t.decisive(n.of[0])
	case query.And, query.Or:
		for _, part := range n.of {
			joint := shown != n && len(shown.of) > 1 && slices.Contains(shown.of, part) // decided together with others
			if q, _ := t.truth(part); q == p && !joint {
				return t.decisive(part)
			}
		}
	}
	return n
}

// thin chooses the frames of the trace, and the series there.
func (t *tracer) thin() {
	decisive := t.series[t.out.Ruling.Statement]
	if t.question.Always {
		decisive = not(decisive)
	}
	group := (len(t.Times) + MaxTracedFrames - 1) / MaxTracedFrames
	for i := 0; i < len(t.Times); i += group {
		best := i
		for k := i; k < min(i+group, len(t.Times)); k++ {
			if decisive[k] > decisive[best] {
				best = k
			}
		}
		t.kept = append(t.kept, best)
		t.out.Times = append(t.out.Times, t.Times[best])
	}
	for k, series := range t.series {
		s := &t.out.Statements[k]
		s.Series = make([]float64, len(t.kept))
		for i, f := range t.kept {
			s.Series[i] = round4(series[f])
		}
	}
}

// draw adds the objects with their tracks.
func (t *tracer) draw() {
	place := map[int32]int{}
	for i, f := range t.kept {
		place[int32(f)] = i //nolint:gosec // an index of a frame
	}
	left := MaxTracedBoxes
	for _, thing := range slices.Concat(t.things, t.related) {
		fits := t.probabilities(thing, 0, len(thing.conditions))
		surest := func(track []int32) float32 {
			best := float32(0)
			for _, k := range track {
				best = max(best, fits[k])
			}
			return best
		}
		out := TracedThing{Text: phrase(thing.Thing), Classes: append([]string{}, thing.names...), Tracks: [][]TracedBox{}}
		tracks := slices.Clone(thing.tracks)
		slices.SortStableFunc(tracks, func(a, b []int32) int { return cmp.Compare(surest(b), surest(a)) })
		for _, track := range tracks {
			var boxes []TracedBox
			for _, k := range track {
				o := thing.objects[k]
				if at, ok := place[o.Frame]; ok {
					boxes = append(boxes, TracedBox{at, rounded(o.Box()), round4(float64(o.Score)), round4(float64(o.P)), round4(float64(fits[k]))})
				}
			}
			if len(boxes) == 0 || len(boxes) > left || len(out.Tracks) == MaxTracedTracks {
				out.Omitted++
				continue
			}
			out.Tracks, left = append(out.Tracks, boxes), left-len(boxes)
		}
		t.out.Things = append(t.out.Things, out)
	}
}

func rounded(b evidence.Box) evidence.Box {
	return evidence.Box{X1: round4(b.X1), Y1: round4(b.Y1), X2: round4(b.X2), Y2: round4(b.Y2)}
}

// relatedTo are the things that the conditions of some things name.
func relatedTo(things []*thing, ev evidence.Evidence, cal Calibration) []*thing {
	var out []*thing
	for _, t := range things {
		for _, c := range t.conditions {
			if c.other != nil {
				out = append(out, newThing(c.other.Thing, ev, cal))
			}
		}
	}
	return out
}
