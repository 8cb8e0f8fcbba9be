package live

import (
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/sampling"
)

const (
	// shortS is the length of the window for what a single moment shows, in seconds: four samples, which
	// is what a run needs to count as lasting (answer.Calibration.Sustained of the embedded model).
	shortS = 1.5
	// longS is the length for actions, in seconds. A fall takes 1.5 s, and the second after it shows that
	// the body stays down.
	longS = 4
	// keepS is the time for which a window keeps a sample, in seconds. A slow engine has too few samples
	// in it, so the latest keepSamples stay in any case. maxWindow bounds the samples.
	keepS       = 2 * longS
	keepSamples = 16
	maxWindow   = 256
)

// view is what the engine was asked to find in the samples of a window.
type view struct {
	terms  []string
	known  []bool
	colors []string
	pose   bool
}

// covers reports whether samples of one view can answer what another one is for.
func (v view) covers(other view) bool {
	return slices.Equal(v.terms, other.terms) && slices.Equal(v.colors, other.colors) && (v.pose || !other.pose)
}

// window has the latest samples. It is for one goroutine.
type window struct {
	view    view
	samples []evidence.Frame // in order; At is the live clock in seconds
	aspect  float64
}

// add adds the newest sample and forgets old ones.
func (w *window) add(f evidence.Frame) {
	if n := len(w.samples); n > 0 && f.At <= w.samples[n-1].At {
		return // two pictures at one time of the clock
	}
	w.samples = append(w.samples, f)
	old := 0
	for old < len(w.samples)-keepSamples && w.samples[old].At < f.At-keepS {
		old++
	}
	old = max(old, len(w.samples)-maxWindow)
	w.samples = slices.Delete(w.samples, 0, old)
}

// lengthS is the length of the window for a question, in seconds.
func lengthS(q query.Query) float64 {
	for _, c := range q.Conditions {
		if c.Kind == query.KindAction {
			return longS
		}
	}
	return shortS
}

// evidence returns the samples of the last seconds as evidence. The newest sample and those at about
// every step before it are Frames, the others are Fine. A step is half a second, as for uploads, unless the
// engine is slower.
func (w *window) evidence(seconds float64) evidence.Evidence {
	ev := evidence.Evidence{
		Terms: w.view.terms, Known: w.view.known, Colors: w.view.colors, Aspect: w.aspect, IntervalS: sampling.BaseStepS,
	}
	if len(w.samples) == 0 {
		return ev
	}
	now := w.samples[len(w.samples)-1].At
	ev.DurationS = now
	ev.IntervalS = max(sampling.BaseStepS, medianGap(w.samples))
	// The window of a slow engine is longer, so that it has as many samples.
	from := now - seconds*ev.IntervalS/sampling.BaseStepS - ev.IntervalS/2
	grid := make([]bool, len(w.samples))
	last := len(w.samples)
	for at := now; at > from && last > 0; at -= ev.IntervalS {
		i := nearest(w.samples[:last], at)
		if math.Abs(w.samples[i].At-at) <= ev.IntervalS/2 {
			grid[i], last = true, i
		}
	}
	for i, f := range w.samples {
		switch {
		case f.At <= from:
		case grid[i]:
			ev.Frames = append(ev.Frames, f)
		default:
			ev.Fine = append(ev.Fine, f)
		}
	}
	return ev
}

// nearest returns the index of the sample nearest to a time.
func nearest(samples []evidence.Frame, at float64) int {
	best := 0
	for i, f := range samples {
		if math.Abs(f.At-at) < math.Abs(samples[best].At-at) {
			best = i
		}
	}
	return best
}

// medianGap is the median time between two neighboring samples, in seconds.
func medianGap(samples []evidence.Frame) float64 {
	if len(samples) < 2 {
		return 0
	}
	gaps := make([]float64, len(samples)-1)
	for i := range gaps {
		gaps[i] = samples[i+1].At - samples[i].At
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// The time for which results must agree before they replace the shown answer, in seconds. One wrong sample
// changes the answer of the window for at most two results.
const (
	settleS = .3
	// doubtS is the time until the absence of an answer is shown.
	doubtS = 1
)

// opinion is the answer that the client sees. It has hysteresis: an answer replaces another one when it
// has lasted. It is for one goroutine. The zero value has no answer yet.
type opinion struct {
	shown verdict
	// rival is the answer of the last results, if it differs from the shown one. It came first at since.
	rival verdict
	since float64
}

// verdict is an answer with its confidence.
type verdict struct {
	answer     answer.Answer
	confidence float64
	count      *int
}

func verdictOf(r answer.Result) verdict {
	return verdict{answer: r.Answer, confidence: r.Confidence, count: r.DetectedCount}
}

// same reports whether two verdicts differ in confidence only.
func (v verdict) same(o verdict) bool {
	if v.answer != o.answer || (v.count == nil) != (o.count == nil) {
		return false
	}
	return v.count == nil || *v.count == *o.count
}

// next takes the verdict about the window at a time and returns the one to show.
func (o *opinion) next(v verdict, atS float64) verdict {
	switch {
	case o.shown.answer == "" || o.shown.answer == answer.Indeterminate || v.same(o.shown):
		o.shown, o.rival = v, verdict{}
		return o.shown
	case !v.same(o.rival):
		o.rival, o.since = v, atS
	}
	needs := settleS
	if v.answer == answer.Indeterminate {
		needs = doubtS
	}
	if atS-o.since >= needs {
		o.shown, o.rival = v, verdict{}
	}
	return o.shown
}
