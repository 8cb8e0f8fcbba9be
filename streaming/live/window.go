package live

import (
	"math"
	"slices"
	"time"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/sampling"
)

const (
	// sequenceS is the length of the window for what happens before or after something else, in seconds.
	sequenceS = 20
	// slackS lengthens the window: samples that are half a second apart on average are so only about.
	slackS = sampling.BaseStepS / 2
	// maxWindow bounds the samples.
	maxWindow = 256
	// stoodS is the time by which a clock that stood between two samples lags, in seconds. A pause is longer
	// than MaxGap and counts for at most leastStretch.
	stoodS = .5
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
	arrived time.Time        // when the picture of the newest sample arrived
	aspect  float64
}

// add adds the newest sample, whose picture arrived at a time. It forgets the samples that are too old for any
// question, and those from before a pause of the clock: it is unknown what happened since.
func (w *window) add(f evidence.Frame, arrived time.Time) {
	if n := len(w.samples); n > 0 {
		passed := f.At - w.samples[n-1].At
		switch {
		case arrived.Sub(w.arrived).Seconds()-passed > stoodS:
			w.samples = nil
		case passed <= 0:
			return // two pictures at one time of the clock
		}
	}
	w.arrived = arrived
	w.samples = append(w.samples, f)
	w.samples = slices.Delete(w.samples, 0, max(firstAfter(w.samples, f.At-sequenceS-slackS), len(w.samples)-maxWindow))
}

// firstAfter is the index of the first sample after a time of the clock.
func firstAfter(samples []evidence.Frame, atS float64) int {
	i, _ := slices.BinarySearchFunc(samples, atS, func(f evidence.Frame, atS float64) int {
		if f.At > atS {
			return 1
		}
		return -1
	})
	return i
}

// lengthS is the length of the window for a question, in seconds: what must hold for an answer, one sample
// before it, and what the predicates look at around each instant.
func lengthS(q query.Query, rules answer.Calibration) float64 {
	if slices.ContainsFunc(q.Groups, func(g query.Group) bool {
		return g.Op == query.GroupOp(query.Before) || g.Op == query.GroupOp(query.After)
	}) {
		return sequenceS
	}
	return rules.SecondS + sampling.BaseStepS + answer.Needs(q).Seconds
}

// evidence returns the samples of the last seconds as evidence. The newest sample and those at about
// every step before it are Frames, the others are Fine. A step is half a second, as for uploads, unless the
// engine is slower. The window of a slow engine has fewer samples, at least the newest one. A longer window would
// show what is gone.
func (w *window) evidence(seconds float64) evidence.Evidence {
	ev := evidence.Evidence{
		Terms: w.view.terms, Known: w.view.known, Colors: w.view.colors, Aspect: w.aspect, IntervalS: sampling.BaseStepS,
	}
	if len(w.samples) == 0 {
		return ev
	}
	now := w.samples[len(w.samples)-1].At
	samples := w.samples[firstAfter(w.samples, now-seconds-slackS):]
	ev.DurationS = now
	ev.IntervalS = max(sampling.BaseStepS, medianGap(samples))
	grid := make([]bool, len(samples))
	last := len(samples)
	for at := now; at >= samples[0].At-ev.IntervalS/2 && last > 0; at -= ev.IntervalS {
		i := nearest(samples[:last], at)
		if math.Abs(samples[i].At-at) <= ev.IntervalS/2 {
			grid[i], last = true, i
		}
	}
	for i, f := range samples {
		if grid[i] {
			ev.Frames = append(ev.Frames, f)
		} else {
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

// The time for which the shown answer stays although the window has another one.
const (
	// settle outlasts one wrong sample, and two of five a second. Samples of a slow engine are farther apart than
	// settle, so that each of them counts at once.
	settle = 550 * time.Millisecond
	// settleDoubt is the same when the window has no answer.
	settleDoubt = 2 * settle
)

// opinion is the answer that the client sees. It has hysteresis: an answer replaces another one that no result
// has confirmed for a while. It is for one goroutine. The zero value has no answer yet.
type opinion struct {
	shown verdict
	// confirmed is when the latest picture arrived whose window had the shown answer.
	confirmed time.Time
}

// verdict is an answer with its confidence.
type verdict struct {
	answer     answer.Answer
	confidence float64
	count      *int
	reason     *query.Reason // of an indeterminate answer
}

func verdictOf(r answer.Result) verdict {
	return verdict{answer: r.Answer, confidence: r.Confidence, count: r.DetectedCount, reason: r.IndeterminateReason}
}

// same reports whether two verdicts differ in confidence only.
func (v verdict) same(o verdict) bool {
	if v.answer != o.answer || (v.count == nil) != (o.count == nil) {
		return false
	}
	return v.count == nil || *v.count == *o.count
}

// next takes the verdict about the window when a picture arrived, and returns the one to show. Times are those of
// arrival: the live clock stands in a pause.
func (o *opinion) next(v verdict, arrived time.Time) verdict {
	stays := settle
	if v.answer == answer.Indeterminate {
		stays = settleDoubt
	}
	none := o.shown.answer == "" || o.shown.answer == answer.Indeterminate
	if none || v.same(o.shown) || arrived.Sub(o.confirmed) >= stays {
		o.shown, o.confirmed = v, arrived
	}
	return o.shown
}
