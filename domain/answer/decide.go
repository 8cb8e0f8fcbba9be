package answer

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// fallbackIntervalS replaces an unknown sampling interval, in seconds.
const fallbackIntervalS = 0.5

// Decide answers q from the evidence about one video. A query that is not
// [query.Assessable] is [Refused]. Any evidence is accepted: unknown indices, and scores or
// times that are not numbers, are ignored.
//
// A question with conditions is never surer than the same question with fewer of them.
func Decide(q query.Query, ev evidence.Evidence, cal Calibration) Result {
	if !query.Assessable(q) {
		return Refused(q)
	}
	ev = withDefaults(ev)
	r := decide(q, ev, cal)
	if r.Answer != Indeterminate {
		r.Confidence = min(r.Confidence, surestWithFewer(q, ev, cal))
	}
	return r
}

// decide answers q without comparing it with fewer conditions.
func decide(q query.Query, ev evidence.Evidence, cal Calibration) Result {
	r := newResult(q, ev.DurationS)
	within := windowOf(q, ev.DurationS)
	ev.Frames, ev.Fine = within.framesIn(ev.Frames), within.framesIn(ev.Fine)
	findings := make([]finding, len(q.Subjects))
	for i, s := range q.Subjects {
		findings[i] = find(q, s, ev, cal)
		r.TermConfidences[s.Term] = max(r.TermConfidences[s.Term], round4(findings[i].seen))
	}
	if counts(q) {
		f := findings[0]
		if reason := f.doubt(cal); reason != "" {
			return r.indeterminate(q, reason)
		}
		r = byCount(r, q, f.tally(cal), cal.Probability(cal.Faint))
		if shown := f.countEvidence(*r.DetectedCount, ev, cal); len(shown) > 0 {
			r.CountEvidence = within.trim(shown)
		}
		return r
	}
	c := combine(findings, q.Operator, cal, ev.IntervalS)
	if c.answer == Indeterminate {
		return r.indeterminate(q, c.reason)
	}
	r.Answer, r.Confidence = c.answer, round4(c.confidence)
	if q.Negated {
		r.Answer = opposite(c.answer)
		return r
	}
	if r.Answer == Yes && showsClips(q) {
		r.Clips = within.trim(clipsOf(c, ev, cal, termsIn(findings, cal)))
	}
	return r
}

func opposite(a Answer) Answer {
	if a == Yes {
		return No
	}
	return Yes
}

// showsClips reports whether a yes to q has clips (docs/contract.md#result-6). A no or an
// absence has nothing to show, and the other forms have an empty list.
func showsClips(q query.Query) bool {
	switch q.PromptIntent {
	case query.Presence, query.Action, query.Compound, query.Segment:
		return true
	default:
		return false
	}
}

// termsIn returns a function that gives the probability of each term of the question in a
// run.
func termsIn(findings []finding, cal Calibration) func(run) map[string]float64 {
	return func(r run) map[string]float64 {
		terms := map[string]float64{}
		for _, f := range findings {
			best := 0.0
			for i := r.first; i <= r.last && i < len(f.samples); i++ {
				best = max(best, f.samples[i].best())
			}
			if best >= cal.Keep {
				terms[f.subject.Term] = max(terms[f.subject.Term], round4(cal.Probability(best)))
			}
		}
		return terms
	}
}

// interval is a part of a video, in seconds.
type interval struct {
	from, to float64
	// whole is true when the question has no time condition.
	whole bool
}

// windowOf is the part of the video that all time conditions of q leave.
func windowOf(q query.Query, durationS float64) interval {
	s := interval{to: durationS, whole: true}
	for _, c := range q.Conditions {
		if w, ok := c.Window(); ok {
			from, to := w.Within(durationS)
			s = interval{from: max(s.from, from), to: min(s.to, to)}
		}
	}
	return s
}

// framesIn returns the frames in the interval.
func (s interval) framesIn(frames []evidence.Frame) []evidence.Frame {
	if s.whole {
		return frames
	}
	var kept []evidence.Frame
	for _, f := range frames {
		if f.At >= s.from && f.At <= s.to {
			kept = append(kept, f)
		}
	}
	return kept
}

// trim cuts clips to the interval. They reach half a sample beyond its edges.
func (s interval) trim(clips []Clip) []Clip {
	if s.whole {
		return clips
	}
	kept := []Clip{}
	for _, c := range clips {
		start, end := max(c.StartS, milli(s.from)), min(c.EndS, milli(s.to))
		if end-start > 0 {
			c.StartS, c.EndS = start, end
			kept = append(kept, c)
		}
	}
	return kept
}

func withDefaults(ev evidence.Evidence) evidence.Evidence {
	if !(ev.IntervalS > 0) || math.IsInf(ev.IntervalS, 0) {
		ev.IntervalS = fallbackIntervalS
	}
	if !(ev.DurationS > 0) || math.IsInf(ev.DurationS, 0) {
		ev.DurationS = 0
	}
	return ev
}

// visibility is the probability that the subject is visible at all. With trusted runs it is
// that of the best one. Otherwise it is that of the best score, and at least what
// Calibration.Absence says. An outvoted run counts for its share of the vote; a flicker
// counts for just less than undecided.
func visibility(samples []sample, runs []run, cal Calibration) float64 {
	highest := 0.0
	for _, s := range samples {
		highest = max(highest, s.highest)
	}
	trusted, doubtful := 0.0, max(cal.Probability(0), cal.presence(highest))
	inRun := make([]bool, len(samples))
	for _, r := range runs {
		p := cal.Probability(r.best)
		switch {
		case r.trusted():
			trusted = max(trusted, p)
		case r.outvoted:
			doubtful = max(doubtful, min(p*r.share, below(cal)))
		case r.samples >= cal.Sustained && p >= likely*cal.Probability(cal.Faint):
			doubtful = max(doubtful, p, cal.Probability(cal.Faint))
		case r.best < cal.Faint || r.best < cal.Flash && r.best < highest:
			doubtful = max(doubtful, min(p, below(cal)))
		default:
			doubtful = max(doubtful, p)
		}
		for i := r.first; i <= r.last; i++ {
			inRun[i] = true
		}
	}
	if trusted > 0 {
		return trusted
	}
	for i, s := range samples {
		if !inRun[i] {
			doubtful = max(doubtful, cal.Probability(s.best()))
		}
	}
	return doubtful
}

// likely is the part of even odds from which a run that lasts leaves a no undecided.
const likely = .75

// below is the largest probability of a run that is outvoted or that no neighboring sample
// supports. It makes a no less sure, but not undecided.
func below(cal Calibration) float64 { return .6 * cal.Probability(cal.Faint) }

func trustedOf(runs []run) []run {
	var out []run
	for _, r := range runs {
		if r.trusted() {
			out = append(out, r)
		}
	}
	return out
}
