package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// scorer returns the scores of the objects of one observation, in their order. Conditions
// lower the raw scores.
type scorer func(s observation) []float64

// unconditioned is the scorer of a subject without conditions.
func unconditioned(s observation) []float64 {
	scores := make([]float64, len(s.objects))
	for i, o := range s.objects {
		scores[i] = o.worth
	}
	return scores
}

// fit is the probability that an object satisfies a condition. When the frame does not show
// it, Unknown is set and Probability is a guess.
type fit struct {
	Probability float64
	Unknown     bool
}

// condition returns the fit of each object of one observation.
type condition func(s observation) []fit

// conditionsOf are the conditions on one subject. Several places are alternatives when the
// operator is any and there is one subject (domain/query, "Normal forms"). All other
// conditions must hold together.
func conditionsOf(q query.Query, subject query.Subject, ev evidence.Evidence, cal Calibration) []condition {
	var all, places []condition
	if cal.Vocabulary.Narrower(subject.Term) {
		if subject.Presupposed {
			all = append(all, presupposed(cal))
		} else {
			all = append(all, perObject(neverKnown))
		}
	}
	for _, c := range q.Conditions {
		if c.Subject != subject.ID || c.Kind == query.KindTime {
			continue // time selects frames, not objects in them
		}
		f := conditionOf(q, c, ev, cal)
		if c.Negated {
			f = not(f)
		}
		if c.Kind == query.KindLocation && q.Operator == query.Any && len(q.Subjects) == 1 {
			places = append(places, f)
		} else {
			all = append(all, f)
		}
	}
	if len(places) > 0 {
		all = append(all, anyOf(places))
	}
	return all
}

// conditionOf is the function for one condition. The condition must be [query.Assessable].
func conditionOf(q query.Query, c query.Condition, ev evidence.Evidence, cal Calibration) condition {
	if relation, object, ok := c.Relation(q); ok {
		mine := classesOf(object, ev, cal).mine
		if len(mine) == 0 && c.OnGround(q) {
			return onGround(ev, cal)
		}
		f := related(relation, mine, ev, cal)
		if cal.Vocabulary.Narrower(object) {
			return relatedToNarrower(f)
		}
		return f
	}
	if place, ok := c.Place(); ok {
		return inPlace(place)
	}
	if colors, ok := c.Colors(); ok {
		return colored(colors, ev.Colors)
	}
	if colors, on, ok := c.Worn(); ok {
		return wearing(colors, on, ev)
	}
	if size, ok := c.Size(); ok {
		return sized(size)
	}
	if gait, ok := c.Movement(); ok {
		return moving(gait, cal.Threshold, ev.AspectRatio())
	}
	if h, side, ok := c.Occurrence(); ok {
		return occurring(h, evidence.Side(side), ev.IntervalS, cal.Threshold)
	}
	posture, _ := c.Posture()
	return inPosture(posture, cal)
}

// not negates a condition. Unknown fits stay as they are.
func not(f condition) condition {
	return func(s observation) []fit {
		out := f(s)
		for i := range out {
			if !out[i].Unknown {
				out[i].Probability = 1 - out[i].Probability
			}
		}
		return out
	}
}

// neverKnown is the fit of an object to a narrower word. The classes of the model do not
// show whether the object is one (vocabulary.Vocabulary.Narrower).
func neverKnown(object) fit { return unknownFit }

// presupposed is the fit of an object to a narrower word when the question takes such an
// object for granted. A single object is the one; several objects are less sure.
func presupposed(cal Calibration) condition {
	return func(s observation) []fit {
		seen, p := 0, 1.
		for _, o := range s.objects {
			if o.Score >= cal.Threshold {
				seen++
			}
		}
		if seen > 1 {
			p = .8
		}
		return slices.Repeat([]fit{{Probability: p}}, len(s.objects))
	}
}

// relatedToNarrower is a relation to an object of a narrower word. The video can show that
// there is no such object, but not that there is one.
func relatedToNarrower(f condition) condition {
	return func(s observation) []fit {
		out := f(s)
		for i := range out {
			if out[i].Probability > unknownFit.Probability {
				out[i] = unknownFit
			}
		}
		return out
	}
}

// anyOf takes the best fit of several conditions.
func anyOf(fits []condition) condition {
	return func(s observation) []fit {
		out := fits[0](s)
		for _, f := range fits[1:] {
			for i, x := range f(s) {
				out[i] = fit{max(out[i].Probability, x.Probability), out[i].Unknown || x.Unknown}
			}
		}
		return out
	}
}

// scoreBy is the scorer for some conditions. The score of an object becomes the one that is
// worth the product of the probabilities. With benefit, an unknown condition counts as
// satisfied.
func scoreBy(conditions []condition, cal Calibration, benefit bool) scorer {
	if len(conditions) == 0 {
		return unconditioned
	}
	return func(s observation) []float64 {
		p := make([]float64, len(s.objects))
		for i, o := range s.objects {
			p[i] = cal.Probability(o.worth)
		}
		for _, c := range conditions {
			for i, f := range c(s) {
				if !benefit || !f.Unknown {
					p[i] *= f.Probability
				}
			}
		}
		scores := make([]float64, len(s.objects))
		for i := range p {
			scores[i] = min(cal.score(p[i]), s.objects[i].worth)
		}
		return scores
	}
}

// perObject is a condition that looks at each object alone.
func perObject(f func(object) fit) condition {
	return func(s observation) []fit {
		out := make([]fit, len(s.objects))
		for i, o := range s.objects {
			out[i] = f(o)
		}
		return out
	}
}

// inPlace is the condition that the center of the box lies in a third of the frame
// (docs/contract.md#answer-location). A center within edge of a border may be on either
// side of it.
func inPlace(p query.Place) condition {
	column := map[string]float64{"left": 0, "centre": 1, "right": 2}
	row := map[string]float64{"top": 0, "middle": 1, "bottom": 2}
	return perObject(func(d object) fit {
		f := 1.0
		if third, ok := column[p.Column]; ok {
			f *= within((d.Box.X1+d.Box.X2)/2, third)
		}
		if third, ok := row[p.Row]; ok {
			f *= within((d.Box.Y1+d.Box.Y2)/2, third)
		}
		return fit{Probability: f}
	})
}

// bigCurve is the probability that people call an object big, by its share of the frame.
var bigCurve = []Point{{0, .02}, {.06, .05}, {.12, .30}, {.20, .70}, {.35, .93}, {1, .97}}

// smallCurve is the probability that people call an object small, by its share of the
// frame.
var smallCurve = []Point{{0, .97}, {.01, .90}, {.03, .50}, {.06, .20}, {.12, .05}, {1, .02}}

// sized is the condition on the size, relative to the frame.
func sized(size query.Size) condition {
	curve := bigCurve
	if size == query.Small {
		curve = smallCurve
	}
	return perObject(func(o object) fit { return fit{Probability: interpolate(curve, evidence.Area(o.Box))} })
}

// within is the probability that a center lies in a third, 0 to 2, of an axis.
func within(center, third float64) float64 {
	const edge = .03
	low, high := third/3, (third+1)/3
	inward := math.Inf(1)
	if third > 0 {
		inward = center - low
	}
	if third < 2 {
		inward = min(inward, high-center)
	}
	if !(inward >= -edge) {
		return .02
	}
	return min(.5+.48*inward/edge, .98)
}
