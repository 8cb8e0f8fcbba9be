package answer

import (
	"math"

	"vqa/domain/query"
)

// fallbackIntervalS stands in for a sampling interval that the evidence does not
// tell, in seconds.
const fallbackIntervalS = 0.5

// Decide answers q from the evidence about one video. A query that is not
// [query.Assessable] is [Refused]. Any evidence is accepted; what is malformed in it
// (unknown indices, scores or times that are no numbers) is ignored.
func Decide(q query.Query, ev Evidence, cal Calibration) Result {
	if !query.Assessable(q) {
		return Refused(q)
	}
	ev = sane(ev)
	subject := q.Subjects[0]
	r := newResult(q, ev.DurationS)
	r.TermConfidences[subject.Term] = 0
	seen := observe(subject, ev, cal)
	if !seen.known || len(seen.samples) == 0 {
		return r.indeterminate(q, query.NothingDetected)
	}
	found := findRuns(seen.samples, ev.IntervalS, cal)
	visible := visibility(seen.samples, found, cal)
	r.TermConfidences[subject.Term] = round4(visible)
	trusted := trustedOf(found)
	if len(trusted) == 0 {
		if visible >= cal.Probability(cal.Threshold) {
			return r.indeterminate(q, query.LowConfidence)
		}
		if !seen.covers {
			return r.indeterminate(q, query.NothingDetected)
		}
	}
	if counts(q) {
		return byCount(r, q, tallyOf(seen.samples, trusted, visible, cal), cal.Probability(cal.Threshold))
	}
	present := len(trusted) > 0
	r.Confidence = round4(1 - visible)
	if present {
		r.Confidence = round4(visible)
	}
	r.Answer = No
	if present == (q.PromptIntent == query.Presence) {
		r.Answer = Yes
	}
	// Rule 6: clips show where something is; a `no` or an absence has nothing to show.
	if present && q.PromptIntent == query.Presence {
		r.Clips = clipsOf(subject.Term, seen.samples, trusted, ev.IntervalS, ev.DurationS, cal)
	}
	return r
}

func sane(ev Evidence) Evidence {
	if !(ev.IntervalS > 0) || math.IsInf(ev.IntervalS, 0) {
		ev.IntervalS = fallbackIntervalS
	}
	if !(ev.DurationS > 0) || math.IsInf(ev.DurationS, 0) {
		ev.DurationS = 0
	}
	return ev
}

// visibility is the probability that the subject is visible at all. Without a trusted
// run it is that of the best sight: cut by the vote where a rival class holds the place,
// and just short of undecided for a flicker.
func visibility(samples []sample, runs []run, cal Calibration) float64 {
	trusted, doubtful := 0.0, cal.Probability(0)
	inRun := make([]bool, len(samples))
	for _, r := range runs {
		p := cal.Probability(r.best)
		switch {
		case r.trusted():
			trusted = max(trusted, p)
		case r.outvoted:
			doubtful = max(doubtful, min(p*r.share, below(cal)))
		case r.samples >= cal.Sustained:
			doubtful = max(doubtful, p, cal.Probability(cal.Threshold))
		case r.best < cal.Flash:
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

// below is a probability just under the threshold: an outvoted sight or a flicker may
// make a `no` doubtful, but not undecided.
func below(cal Calibration) float64 { return cal.Probability(cal.Threshold) - 0.01 }

func trustedOf(runs []run) []run {
	var out []run
	for _, r := range runs {
		if r.trusted() {
			out = append(out, r)
		}
	}
	return out
}
