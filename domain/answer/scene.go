package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// thing is a noun phrase of the question with its objects in all frames.
type thing struct {
	query.Thing
	classes
	conditions []condition
	// objects are those of all frames, in the order of time; those of frame i begin at starts[i].
	objects []predicate.Object
	starts  []int32
	// tracks are indices of objects. It is nil when no condition looks along a track.
	tracks [][]int32
	linker evidence.Linker
	// follow links the objects although no condition looks along a track.
	follow bool
	// narrower is true when the classes cover more than the word, covers when they cover all of it.
	narrower, covers bool
}

// condition is one condition of a thing.
type condition struct {
	query.Condition
	row  predicate.Row
	test predicate.Test
	// other is the thing that the condition names, or nil.
	other    *thing
	readings []predicate.Reading
	// fits are the probabilities that it holds, by object.
	fits []float32
}

// classes are the classes of a word in some evidence.
type classes struct {
	// mine is by index in Evidence.Terms; names are those that the model knows.
	mine  []bool
	names []string
}

func (c classes) known() bool { return len(c.names) > 0 }

func classesOf(term string, ev evidence.Evidence, cal Calibration) classes {
	names, ok := cal.Vocabulary.Lookup(term)
	if !ok {
		names = []string{term}
	}
	c := classes{mine: make([]bool, len(ev.Terms))}
	for i, t := range ev.Terms {
		if slices.Contains(names, t) && i < len(ev.Known) && ev.Known[i] {
			c.mine[i], c.names = true, append(c.names, t)
		}
	}
	return c
}

// newThing prepares a noun phrase for some evidence.
func newThing(t query.Thing, ev evidence.Evidence, cal Calibration) *thing {
	out := &thing{Thing: t, classes: classesOf(t.Term, ev, cal), linker: cal.linker(ev)}
	out.narrower = cal.Vocabulary.Narrower(t.Term)
	all, ok := cal.Vocabulary.Lookup(t.Term)
	out.covers = !ok || cal.Vocabulary.Covers(t.Term) && len(out.names) == len(all)
	for _, c := range t.Conditions {
		row, test, ok := predicate.Find(c, subjectClasses(t.Term))
		if !ok {
			continue // Assessable refuses such a question
		}
		found := condition{Condition: c, row: row, test: test}
		if _, object := c.Split(); row.Object && object != nil {
			found.other = newThing(*object, ev, cal)
		}
		out.conditions = append(out.conditions, found)
	}
	return out
}

// vague reports whether the classes cover more than the words of a thing, or of one that it names. Then
// no answer is reliable.
func (t *thing) vague() bool {
	return t.narrower || slices.ContainsFunc(t.conditions, func(c condition) bool { return c.other != nil && c.other.vague() })
}

// followed reports whether the objects must be linked to tracks.
func (t *thing) followed() bool {
	return t.follow || slices.ContainsFunc(t.conditions, func(c condition) bool { return c.test.Along != nil })
}

// detailed reports whether more than the boxes of the frames is needed.
func (t *thing) detailed() bool {
	return t.followed() || slices.ContainsFunc(t.conditions, func(c condition) bool {
		return c.row.Needs.Pose || c.row.Needs.Colors || c.other != nil && c.other.detailed()
	})
}

// object is one detection of a thing with its probability.
type object struct {
	evidence.Detection
	p float64
}

// watch reads all frames, one after the other, into the things.
func watch(ev evidence.Evidence, cal Calibration, things []*thing) *predicate.Scene {
	s := &predicate.Scene{IntervalS: ev.IntervalS, Aspect: ev.AspectRatio()}
	details := slices.ContainsFunc(things, (*thing).detailed)
	var camera evidence.Camera
	for i, f := range ev.Timeline() {
		f = f.Load(details)
		all := clean(f.Detections, len(ev.Terms))
		var view evidence.View
		if details {
			view = camera.Next(f.At, f.Shades, boxesOf(all, cal.Keep), 2*ev.IntervalS)
		}
		s.Times, s.Views = append(s.Times, f.At), append(s.Views, view)
		context := predicate.Frame{
			Aspect: s.Aspect, Colors: ev.Colors, Terms: ev.Terms, Detections: all,
			Probability: func(d evidence.Detection) float64 { return cal.Probability(ev.Terms[d.Term], d.Score) },
		}
		for _, t := range things {
			t.take(i, s, context, cal)
		}
	}
	for _, t := range things {
		t.judge(s)
	}
	return s
}

// take adds the objects of the next frame.
func (t *thing) take(i int, s *predicate.Scene, f predicate.Frame, cal Calibration) {
	t.starts = append(t.starts, int32(len(t.objects))) //nolint:gosec // far fewer than 2^31
	found := t.find(f, cal)
	var numbers []int
	if t.followed() {
		if s.Views[i].Cut {
			t.linker.Cut()
		}
		places := make([]evidence.Box, len(found))
		for k, o := range found {
			places[k] = s.Views[i].In(o.Box)
		}
		t.linker.Picture = s.Views[i].In(evidence.Box{X2: 1, Y2: 1})
		numbers = t.linker.Link(s.Times[i], places)
	}
	for c := range t.conditions {
		t.conditions[c].read(f, found, cal)
	}
	for k, o := range found {
		if numbers != nil && numbers[k] >= 0 {
			for n := numbers[k]; n >= len(t.tracks); {
				t.tracks = append(t.tracks, nil)
			}
			t.tracks[numbers[k]] = append(t.tracks[numbers[k]], int32(len(t.objects))) //nolint:gosec // far fewer than 2^31
		}
		t.objects = append(t.objects, predicate.Object{
			Frame: int32(i), X1: float32(o.Box.X1), Y1: float32(o.Box.Y1), X2: float32(o.Box.X2), Y2: float32(o.Box.Y2), //nolint:gosec // an index of a frame
			Score: float32(o.Score), P: float32(o.p),
		})
	}
}

// read adds what a frame shows of some objects for a condition.
func (c *condition) read(f predicate.Frame, found []object, cal Calibration) {
	if c.other != nil {
		f.Others = c.other.others(f, cal)
	}
	for _, o := range found {
		r := predicate.Reading{predicate.Unknown, predicate.Unknown}
		if c.test.Read != nil && (c.other == nil || c.other.known()) {
			r = c.test.Read(f, o.Detection)
		}
		c.readings = append(c.readings, r)
	}
}

// others are the objects of a thing that a condition names, as one frame shows them.
func (t *thing) others(f predicate.Frame, cal Calibration) []predicate.Other {
	var out []predicate.Other
	for _, o := range t.find(f, cal) {
		p := o.p
		for _, c := range t.conditions {
			if c.test.Read != nil {
				p *= alone(c.test, c.test.Read(f, o.Detection))
			}
		}
		out = append(out, predicate.Other{Box: o.Box, P: p})
	}
	return out
}

// alone is the probability of a test by a single frame.
func alone(t predicate.Test, r predicate.Reading) float64 {
	out := []float32{r[0]}
	if t.Along != nil {
		t.Along(predicate.Track{
			Scene: &predicate.Scene{Times: []float64{0}, Views: []evidence.View{{}}, IntervalS: 1, Aspect: 1}, Objects: []predicate.Object{{}},
			Readings: []predicate.Reading{r}, Index: []int32{0},
		}, out)
	}
	if math.IsNaN(float64(out[0])) {
		return unseen
	}
	return float64(out[0])
}

// judge computes how the objects fit the conditions, once all frames were read.
func (t *thing) judge(s *predicate.Scene) {
	t.starts = append(t.starts, int32(len(t.objects))) //nolint:gosec // far fewer than 2^31
	for c := range t.conditions {
		t.conditions[c].judge(s, t)
	}
}

func (c *condition) judge(s *predicate.Scene, t *thing) {
	c.fits = make([]float32, len(t.objects))
	for i, r := range c.readings {
		c.fits[i] = r[0]
	}
	if c.test.Along != nil {
		var out []float32
		all := predicate.AllOf(t.objects, t.tracks)
		for _, index := range t.tracks {
			out = slices.Grow(out[:0], len(index))[:len(index)]
			c.test.Along(predicate.Track{Scene: s, Objects: t.objects, Readings: c.readings, Index: index, All: all}, out)
			for k, i := range index {
				c.fits[i] = out[k]
			}
		}
	}
	c.readings = nil
}

// find returns the objects of a thing in a frame, the best first. Classes of one thing at one place are
// one object.
func (t *thing) find(f predicate.Frame, cal Calibration) []object {
	var kept []object
	for _, d := range f.Detections {
		again := func(k object) bool { return evidence.IoU(k.Box, d.Box) > sameObject }
		if d.Score >= cal.Keep && t.mine[d.Term] && !slices.ContainsFunc(kept, again) {
			kept = append(kept, object{Detection: d})
		}
	}
	for i := range kept {
		kept[i].p = cal.probabilityAmong(kept[i].Detection, f, t.mine)
	}
	return kept
}

// sameObject is the intersection over union from which two boxes are one object.
const sameObject = .45

// clean returns the valid detections of a frame, the best first, with their boxes cut to the frame. The
// order of the input does not matter.
func clean(all []evidence.Detection, terms int) []evidence.Detection {
	out := make([]evidence.Detection, 0, len(all))
	for _, d := range all {
		if d.Score > 0 && d.Term >= 0 && d.Term < terms {
			d.Score, d.Box = min(d.Score, 1), d.Box.InFrame()
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b evidence.Detection) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Term, b.Term),
			cmp.Compare(a.Box.X1, b.Box.X1), cmp.Compare(a.Box.Y1, b.Box.Y1), cmp.Compare(a.Box.X2, b.Box.X2), cmp.Compare(a.Box.Y2, b.Box.Y2))
	})
	return out
}

func boxesOf(all []evidence.Detection, keep float64) []evidence.Box {
	var out []evidence.Box
	for _, d := range all {
		if d.Score >= keep {
			out = append(out, d.Box)
		}
	}
	return out
}

// Presence is the probability that a term is visible at some time, whatever a question says of it. mine are
// its classes, by index in Evidence.Terms.
func Presence(term string, ev evidence.Evidence, cal Calibration) (p float64, mine []bool) {
	ev = withDefaults(ev)
	t := newThing(query.Thing{Term: term}, ev, cal)
	a := newAxis(watch(ev, cal, []*thing{t}), ev.DurationS)
	series := make([]float64, len(a.Times))
	for _, o := range t.objects {
		series[o.Frame] = max(series[o.Frame], float64(o.P))
	}
	return a.best(series, cal.SecondS), t.mine
}
