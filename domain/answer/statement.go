package answer

import (
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// node is a statement with the evidence of its things.
type node struct {
	statement query.Statement
	// thing is that of Is, Number and Share, and the first one of More; than is the second one.
	thing, than *thing
	// of are the parts of And, Or, Not and Order.
	of []*node
}

// build prepares a statement and appends its things.
func build(s query.Statement, ev evidence.Evidence, cal Calibration, things *[]*thing) *node {
	n := &node{statement: s}
	use := func(t query.Thing) *thing {
		*things = append(*things, newThing(t, ev, cal))
		return (*things)[len(*things)-1]
	}
	parts := func(of ...query.Statement) {
		for _, p := range of {
			n.of = append(n.of, build(p, ev, cal, things))
		}
	}
	switch s := s.(type) {
	case query.Is:
		n.thing = use(s.Thing)
	case query.Number:
		n.thing = use(s.Thing)
	case query.Share:
		n.thing = use(query.Things(s)[0])
	case query.More:
		n.thing, n.than = use(s.Thing), use(s.Than)
	case query.And:
		parts(s.Of...)
	case query.Or:
		parts(s.Of...)
	case query.Not:
		parts(s.Of)
	case query.Order:
		parts(s.First, s.Other)
	}
	return n
}

// things are those of a statement and of its parts.
func (n *node) things() []*thing {
	var out []*thing
	for _, t := range []*thing{n.thing, n.than} {
		if t != nil {
			out = append(out, t)
		}
	}
	for _, part := range n.of {
		out = append(out, part.things()...)
	}
	return out
}

// moment reports whether a statement holds only for an instant.
func (n *node) moment() bool {
	if n.thing != nil {
		return slices.ContainsFunc(n.thing.conditions, func(c condition) bool { return c.row.Moment })
	}
	return slices.ContainsFunc(n.of, (*node).moment)
}

// complement reports whether a statement holds where something is missing.
func (n *node) complement() bool {
	switch s := n.statement.(type) {
	case query.Not:
		return !n.of[0].complement()
	case query.Number:
		return s.Quantity.Op == query.FewerThan || s.Quantity.Op == query.AtMost
	default:
		return false
	}
}

// trial evaluates statements. What cannot be seen is taken not to hold, or to hold when assume is set.
type trial struct {
	axis
	cal    Calibration
	assume bool
	// undecided are the parts that could not be seen.
	undecided *undecided
}

// undecided names what an answer cannot tell.
type undecided struct {
	things     []*thing // without a class, or words that cover more than the classes
	conditions map[*condition]*thing
}

func newUndecided() *undecided { return &undecided{conditions: map[*condition]*thing{}} }

const (
	// unseen is the probability of a condition that a frame does not show.
	unseen = .12
	// background: what an object does cannot be seen when its area is below this share of the frame's
	// largest object, and nobody asks about it.
	background = .2
)

// constant is a series with one value.
func (e trial) constant(p float64) []float64 {
	out := make([]float64, len(e.Times))
	for i := range out {
		out[i] = p
	}
	return out
}

// probabilities of the objects of a thing that the conditions from and on hold for them, by object.
// The first conditions say which objects are meant.
func (e trial) probabilities(t *thing, from, to int) []float32 {
	out := t.sureness(t.conditions[from:to])
	for k := from; k < to; k++ {
		fits := e.fits(t, &t.conditions[k])
		for i := range out {
			out[i] *= fits[i]
		}
	}
	return out
}

// sureness are the probabilities of the objects that some conditions are about. For what happens at an
// instant it is the best of the track: at the edge of the frame little of an object is seen.
func (t *thing) sureness(conditions []condition) []float32 {
	out := make([]float32, len(t.objects))
	for i, o := range t.objects {
		out[i] = o.P
	}
	if !slices.ContainsFunc(conditions, func(c condition) bool { return c.row.Moment }) {
		return out
	}
	for _, track := range t.tracks {
		best := float32(0)
		for _, i := range track {
			best = max(best, out[i])
		}
		for _, i := range track {
			out[i] = best
		}
	}
	return out
}

// fits are the probabilities that a condition holds, by object.
func (e trial) fits(t *thing, c *condition) []float32 {
	out := make([]float32, len(t.objects))
	for f := 0; f+1 < len(t.starts); f++ {
		objects := t.objects[t.starts[f]:t.starts[f+1]]
		largest := float32(0)
		for _, o := range objects {
			largest = max(largest, area(o))
		}
		for k, o := range objects {
			i := int(t.starts[f]) + k
			switch p := c.fits[i]; {
			case p == p && c.Negated:
				out[i] = 1 - p
			case p == p:
				out[i] = p
			default:
				out[i] = unseen
				if area(o) >= background*largest {
					e.undecided.conditions[c] = t
					if e.assume {
						out[i] = 1
					}
				}
			}
		}
	}
	return out
}

func area(o predicate.Object) float32 { return (o.X2 - o.X1) * (o.Y2 - o.Y1) }

// bare is the series of a thing without its conditions.
func (e trial) bare(t *thing) []float64 {
	out := e.constant(0)
	for _, o := range t.objects {
		out[o.Frame] = max(out[o.Frame], float64(o.P))
	}
	return out
}

// holds returns the best object's probability in each frame. If the model has no class for the thing, the
// statement is undecided.
func (e trial) holds(t *thing, to int) []float64 {
	out := e.constant(e.cal.Floor)
	e.overlay(out, t, e.probabilities(t, 0, to))
	if vague := !t.known() || !t.covers && e.best(out, e.cal.SecondS) < e.cal.Yes; vague {
		e.undecided.things = append(e.undecided.things, t)
		if e.assume {
			return e.constant(1 - e.cal.Floor)
		}
	}
	return out
}

// overlay raises a series to the best object of each frame.
func (e trial) overlay(out []float64, t *thing, p []float32) {
	for i, o := range t.objects {
		out[o.Frame] = max(out[o.Frame], float64(p[i]))
	}
}

// each combines two series frame by frame.
func each(a, b []float64, join func(a, b float64) float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = join(a[i], b[i])
	}
	return out
}

func least(a, b float64) float64    { return min(a, b) }
func greatest(a, b float64) float64 { return max(a, b) }

func not(p []float64) []float64 {
	out := make([]float64, len(p))
	for i := range p {
		out[i] = 1 - p[i]
	}
	return out
}

// series is the probability of a statement in each frame.
func (e trial) series(n *node) []float64 {
	switch s := n.statement.(type) {
	case query.Is:
		return e.holds(n.thing, len(n.thing.conditions))
	case query.Number:
		return e.number(s.Quantity, e.ranks(n.thing))
	case query.Share:
		return e.share(s, n.thing)
	case query.More:
		return e.more(e.ranks(n.thing), e.ranks(n.than))
	case query.And:
		return e.join(n.of, least)
	case query.Or:
		return e.join(n.of, greatest)
	case query.Not:
		return not(e.series(n.of[0]))
	case query.Order:
		return e.order(s.Sequence, n.of[0], n.of[1])
	}
	return e.constant(e.cal.Floor)
}

func (e trial) join(of []*node, join func(a, b float64) float64) []float64 {
	out := e.series(of[0])
	for _, n := range of[1:] {
		out = each(out, e.series(n), join)
	}
	return out
}

// share is the series of all, most or only the instances that satisfy conditions.
func (e trial) share(s query.Share, t *thing) []float64 {
	from := len(t.conditions) - len(s.Conditions)
	meant, fit := e.probabilities(t, 0, from), e.probabilities(t, 0, len(t.conditions))
	exists, fails := e.constant(e.cal.Floor), e.constant(e.cal.Floor)
	e.overlay(exists, t, fit)
	without := make([]float32, len(fit))
	for i := range fit {
		without[i] = meant[i] - fit[i]
	}
	e.overlay(fails, t, without)
	if s.Which != query.MostOf {
		return each(exists, not(fails), least)
	}
	all, with := e.constant(0), e.constant(0)
	for i, o := range t.objects {
		all[o.Frame] += float64(meant[i])
		with[o.Frame] += float64(fit[i])
	}
	for i := range exists {
		const soft = .08 // of the instances
		if all[i] > 0 {
			exists[i] = min(exists[i], sigmoid((with[i]/all[i]-.5)/soft))
		}
	}
	return exists
}

// order is the series of one statement where it begins before or after another one begins.
func (e trial) order(s query.Sequence, first, other *node) []float64 {
	a, b := e.series(first), e.series(other)
	if s == query.While {
		return each(a, b, least)
	}
	begin := e.intervals(b, other)
	out := e.constant(e.cal.Floor)
	if len(begin) == 0 {
		return out
	}
	for _, i := range e.intervals(a, first) {
		if s == query.Before && i.first < begin[0].first || s == query.After && i.first > begin[0].first {
			copy(out[i.first:i.last+1], a[i.first:i.last+1])
		}
	}
	return out
}

// intervals are those in which a statement with a series holds.
func (e trial) intervals(p []float64, n *node) []span {
	if e.best(p, e.seconds(n)) < e.cal.Yes {
		return nil
	}
	lift, stay := e.prior(n)
	return e.lasting(p, lift, stay)
}

// prior is the log odds that each frame of a statement gains once the answer is yes, and those that a
// change between yes and no costs.
func (e trial) prior(n *node) (lift, stay float64) {
	switch {
	case n.moment():
		return 0, 0
	case n.complement(): // where something is missing is where it is not
		return -e.cal.Lift, e.cal.Stay
	default:
		return e.cal.Lift, e.cal.Stay
	}
}

// lasting are the intervals of a series that is known to hold at some time.
func (e trial) lasting(p []float64, lift, stay float64) []span {
	if all := e.spans(p, lift, stay); len(all) > 0 {
		return all
	}
	best := 0
	for i := range p {
		if p[i] > p[best] {
			best = i
		}
	}
	return []span{{best, best}}
}

// seconds is how long a statement must hold on average.
func (e trial) seconds(n *node) float64 {
	if n.moment() {
		return 0
	}
	return e.cal.SecondS
}
