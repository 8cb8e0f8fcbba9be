package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// judgement says what is left of the raw scores of the objects of one frame, which are
// best first, when a subject must also satisfy conditions.
type scorer func(s observation) []float64

// asSeen judges by the raw scores alone.
func unconditioned(s observation) []float64 {
	scores := make([]float64, len(s.objects))
	for i, o := range s.objects {
		scores[i] = o.worth
	}
	return scores
}

// fitness is how probable it is that an object satisfies a condition. An untold one
// could not be told from the frame, and Probability is what is guessed.
type fit struct {
	Probability float64
	Unknown     bool
}

// fitsOf judges the objects of one frame by one condition.
type condition func(s observation) []fit

// conditionsOf are the conditions on one subject. Places combine by the operator where
// there is one subject (domain/query, "Normal forms"), all others must hold together.
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
			continue // time is a matter of the frames, not of the objects in them
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

// conditionOf is one condition that [query.Assessable] knows.
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
	if colours, ok := c.Colors(); ok {
		return colored(colours, ev.Colors)
	}
	if colours, on, ok := c.Worn(); ok {
		return wearing(colours, on, ev)
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

// not turns what was told round; what was not stays as it is.
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

// unnamed is what an object of the classes of a narrower word is worth: that it is one of
// those that the word means cannot be told (domain/query, Vocabulary.Narrower).
func neverKnown(object) fit { return unknownFit }

// presumed is the same where the question takes such an object for granted: one that is
// alone is it, of several any may be.
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

// doubted is a relation to something that a narrower word names: that there is nothing
// there can be told, that it is what the word means cannot.
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

// anyOf takes the best of several fits.
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

// judgeBy weighs each object by what the conditions say of it: its score becomes the
// one that is worth the product of the probabilities. With benefit, what could not be
// told counts as fulfilled.
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

// each judges every object by itself.
func perObject(f func(object) fit) condition {
	return func(s observation) []fit {
		out := make([]fit, len(s.objects))
		for i, o := range s.objects {
			out[i] = f(o)
		}
		return out
	}
}

// inPlace judges by the centre of the box (open points, "Answers": thirds of the
// frame). Within edge of a border a box may be on either side of it.
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

// bigCurve is the probability that people call a thing big in a frame, by its share of
// the frame.
var bigCurve = []Point{{0, .02}, {.06, .05}, {.12, .30}, {.20, .70}, {.35, .93}, {1, .97}}

// smallCurve is the same for small.
var smallCurve = []Point{{0, .97}, {.01, .90}, {.03, .50}, {.06, .20}, {.12, .05}, {1, .02}}

// sized judges by the share of the frame ("relative to the frame", domain/query).
func sized(size query.Size) condition {
	curve := bigCurve
	if size == query.Small {
		curve = smallCurve
	}
	return perObject(func(o object) fit { return fit{Probability: interpolate(curve, evidence.Area(o.Box))} })
}

// within is the probability that a centre lies in a third, 0 to 2, of an axis.
func within(centre, third float64) float64 {
	const edge = .03
	low, high := third/3, (third+1)/3
	inward := math.Inf(1)
	if third > 0 {
		inward = centre - low
	}
	if third < 2 {
		inward = min(inward, high-centre)
	}
	if !(inward >= -edge) {
		return .02
	}
	return min(.5+.48*inward/edge, .98)
}
