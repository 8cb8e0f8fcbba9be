package answer

import (
	"cmp"
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Observation is a video as the answers about some things see it: their objects, linked to tracks, with
// what predicates say of them. Whatever is told or drawn of a video comes from here, so that it agrees
// with the answers.
type Observation struct {
	trial
	things []*thing
	// held tells how probably each object meets each of its thing's conditions.
	held [][][]float32
}

// Track is one object of a thing.
type Track struct {
	predicate.Track
	// Best is the largest probability that lasts for a second. It is lower for an object that a count
	// doubts, such as a box inside of another one.
	Best float64
	// Highest is the largest probability of one point.
	Highest float64
}

// P is the probability that a point is the thing.
func (t Track) P(k int) float64 { return float64(t.Objects[t.Index[k]].P) }

// Frame is the index of the frame of a point in Times.
func (t Track) Frame(k int) int { return int(t.Objects[t.Index[k]].Frame) }

// Span are the frames of an Observation from First to Last, both included.
type Span struct{ First, Last int }

// Observe finds the objects of some things in all frames of the evidence. The conditions of a thing do not
// select among its objects: Observation.Holds tells when they hold.
func Observe(ev evidence.Evidence, cal Calibration, things ...query.Thing) *Observation {
	ev = withDefaults(ev)
	o := &Observation{trial: trial{cal: cal, undecided: newUndecided()}}
	for _, t := range things {
		next := newThing(t, ev, cal)
		next.follow = true
		o.things = append(o.things, next)
	}
	o.axis = newAxis(watch(ev, cal, o.things), ev.DurationS)
	o.held = make([][][]float32, len(things))
	for i, t := range o.things {
		for c := range t.conditions {
			o.held[i] = append(o.held[i], o.probabilities(t, c, c+1))
		}
	}
	return o
}

// Tracks are the objects of a thing, in the order of their first points.
func (o *Observation) Tracks(thing int) []Track {
	t := o.things[thing]
	doubted := make([]float32, len(t.objects))
	for f := 0; f+1 < len(t.starts); f++ {
		var all []instance
		for i := t.starts[f]; i < t.starts[f+1]; i++ {
			all = append(all, instance{float64(t.objects[i].P), t.objects[i], i})
		}
		for _, k := range o.counted(all) {
			doubted[k.index] = float32(k.p)
		}
	}
	out, all := make([]Track, 0, len(t.tracks)), predicate.AllOf(t.objects, t.tracks)
	for _, index := range t.tracks {
		next := Track{Track: predicate.Track{Scene: o.Scene, Objects: t.objects, Index: index, All: all}}
		for _, i := range index {
			next.Highest = max(next.Highest, float64(t.objects[i].P))
		}
		part, _, p := o.alone(index, t.objects, doubted)
		next.Best = part.best(p, o.cal.SecondS)
		out = append(out, next)
	}
	slices.SortStableFunc(out, func(a, b Track) int { return cmp.Compare(a.Index[0], b.Index[0]) })
	return out
}

// Most is the number of instances of a thing that an answer counts.
func (o *Observation) Most(thing int) int {
	bare := *o.things[thing]
	bare.conditions = nil
	n, _, _ := o.tally(o.ranks(&bare), o.cal.SecondS)
	return n
}

// Holds returns the frames in which a condition of a thing holds for one of its objects. There are none
// when no predicate is about such things, or when it does not last as long as an answer needs for a yes.
// They are shorter than the clips of an answer, which also cover the doubtful frames around them.
func (o *Observation) Holds(thing int, value string, t Track) []Span {
	c := slices.IndexFunc(o.things[thing].conditions, func(c condition) bool { return c.Value == value })
	if c < 0 {
		return nil
	}
	part, from, p := o.alone(t.Index, t.Objects, o.held[thing][c])
	if part.best(p, o.cal.SecondS) < o.cal.Yes {
		return nil
	}
	var out []Span
	for _, s := range part.lasting(p, 0, o.cal.Stay) {
		out = append(out, Span{from + s.first, from + s.last})
	}
	return out
}

// alone is the series of one object in the frames that show it, and in frames around them if these are
// shorter than an answer needs. from is the first of these frames.
func (o *Observation) alone(index []int32, objects []predicate.Object, p []float32) (part trial, from int, series []float64) {
	first, last := int(objects[index[0]].Frame), int(objects[index[len(index)-1]].Frame)
	width := 0.0
	for _, c := range o.cells[first : last+1] {
		width += c
	}
	for end := len(o.cells) - 1; (first > 0 || last < end) && width < o.cal.SecondS+o.IntervalS; {
		if first > 0 {
			first--
			width += o.cells[first]
		}
		if last < end {
			last++
			width += o.cells[last]
		}
	}
	part = o.trial
	part.axis = axis{o.Scene, o.cells[first : last+1], 0}
	series = slices.Repeat([]float64{o.cal.Floor}, last-first+1)
	for _, i := range index {
		k := int(objects[i].Frame) - first
		series[k] = max(series[k], float64(p[i]))
	}
	return part, first, series
}
