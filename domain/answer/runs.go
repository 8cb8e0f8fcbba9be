package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/evidence"
)

// run is a series of samples, first to last inclusive, in which a subject is visible.
type run struct {
	first, last int
	// best is the highest raw score.
	best float64
	// samples is the number of samples that reach Keep.
	samples int
	// supported is true when neighboring samples back each other, or one reaches Peak.
	supported bool
	// share is the subject's share of the vote against its strongest rival, 0..1; 1 without
	// a rival.
	share float64
	// outvoted is true when a rival class scores more at the same place.
	outvoted bool
}

func (r run) trusted() bool { return r.supported && !r.outvoted }

// findRuns divides the samples into runs with hysteresis. One missed sample does not end a
// run. It leaves a gap of one interval, and gaps in the clips shorter than 1.5 intervals
// are closed (docs/contract.md#answer-clips).
func findRuns(samples []sample, intervalS float64, cal Calibration) []run {
	var runs []run
	for i := 0; i < len(samples); {
		if samples[i].best() < cal.Keep {
			i++
			continue
		}
		last := i
		for j := i + 1; j < len(samples); j++ {
			if gap(samples[last], samples[j], intervalS) >= 1.5*intervalS {
				break
			}
			if samples[j].best() >= cal.Keep {
				last = j
			}
		}
		runs = append(runs, weigh(samples, i, last, cal))
		i = last + 1
	}
	return runs
}

// gap is the time between two samples, less half an interval for each of them.
func gap(a, b sample, intervalS float64) float64 { return b.at - a.at - intervalS }

// neighbors reports whether no sample is missing between two times.
func neighbors(a, b, intervalS float64) bool { return b > a && b-a < 1.5*intervalS }

// weigh computes the run of the samples first to last.
func weigh(samples []sample, first, last int, cal Calibration) run {
	r := run{first: first, last: last, share: 1}
	votes, own := map[int]float64{}, 0.0
	for i := first; i <= last; i++ {
		s := samples[i]
		r.best = max(r.best, s.best())
		if s.best() >= cal.Keep {
			r.samples++
		}
		r.supported = r.supported || backed(samples[first:i+1], cal) || s.best() >= cal.Peak
		own += s.raw
		for term, score := range s.rivals {
			votes[term] += score
		}
	}
	// A video of one frame cannot show anything twice.
	r.supported = r.supported || len(samples) == 1 && r.best >= cal.Faint
	for _, rival := range votes {
		r.share = min(r.share, own/(own+rival))
		r.outvoted = r.outvoted || rival >= own*cal.Outvote
	}
	return r
}

// clipsOf turns runs into clips. A sample at t stands for the time from t-i/2 to t+i/2,
// where i is the interval, so that edges are right on average. Fine samples move the edges,
// and occurrences have their own times. terms returns the terms visible in a run.
func clipsOf(c combined, ev evidence.Evidence, cal Calibration, terms func(run) map[string]float64) []Clip {
	limit, intervalS := ev.DurationS, ev.IntervalS
	if !(limit > 0) {
		// The duration is unknown: the video reaches at least as far as its last sample.
		limit = c.samples[len(c.samples)-1].at + intervalS
	}
	var clips []Clip
	for _, r := range c.shown {
		for _, part := range c.parts(r, ev, cal) {
			start, end := widened(max(0, part.from), min(limit, part.to), intervalS, limit)
			clips = joinClip(clips, Clip{
				StartS: min(milli(start), limit), EndS: min(milli(end), limit),
				Confidence: round4(cal.Probability(r.best)), Terms: terms(r),
			}, intervalS)
		}
	}
	return strongest(clips)
}

// parts are the times at which a run shows the answer: the occurrences in it, or else the
// whole run.
func (c combined) parts(r run, ev evidence.Evidence, cal Calibration) []interval {
	var moments []interval
	for _, m := range c.occurrences {
		if m.to >= c.samples[r.first].at && m.from <= c.samples[r.last].at {
			moments = append(moments, m)
		}
	}
	if len(moments) > 0 {
		return moments
	}
	whole := interval{
		from: outward(c.samples, c.fine, r.first, -1, ev.IntervalS, cal),
		to:   outward(c.samples, c.fine, r.last, 1, ev.IntervalS, cal),
	}
	// A gap at either end of the video is closed like any other.
	if r.first == 0 && whole.from < 1.5*ev.IntervalS {
		whole.from = 0
	}
	if r.last == len(c.samples)-1 && ev.DurationS > 0 && ev.DurationS-whole.to < 1.5*ev.IntervalS {
		whole.to = ev.DurationS
	}
	return []interval{whole}
}

// joinClip appends a clip, or extends the last one when the gap between them is short.
func joinClip(clips []Clip, c Clip, intervalS float64) []Clip {
	if !(c.StartS < c.EndS) {
		return clips
	}
	n := len(clips)
	if n == 0 || c.StartS-clips[n-1].EndS >= 1.5*intervalS {
		return append(clips, c)
	}
	last := &clips[n-1]
	last.EndS, last.Confidence = max(last.EndS, c.EndS), max(last.Confidence, c.Confidence)
	for term, p := range c.Terms {
		last.Terms[term] = max(last.Terms[term], p)
	}
	return clips
}

// strongest keeps the MaxClips most confident clips, in the order of time.
func strongest(clips []Clip) []Clip {
	if len(clips) <= MaxClips {
		return clips
	}
	slices.SortStableFunc(clips, func(a, b Clip) int { return cmp.Compare(b.Confidence, a.Confidence) })
	clips = clips[:MaxClips]
	slices.SortFunc(clips, func(a, b Clip) int { return cmp.Compare(a.StartS, b.StartS) })
	return clips
}

// milli rounds seconds to milliseconds.
func milli(s float64) float64 { return math.Round(s*1e3) / 1e3 }

// round4 rounds a probability to four digits, which is finer than its accuracy.
func round4(p float64) float64 { return math.Round(p*1e4) / 1e4 }
