package answer

import "vqa/domain/evidence"

// countEvidence are the parts of the video in which n instances of a counted subject are
// visible at the same time, as clips. It is nil for n = 0.
func (f finding) countEvidence(n int, ev evidence.Evidence, cal Calibration) []Clip {
	if n == 0 || len(f.trusted) == 0 {
		return nil
	}
	c := combined{samples: f.samples, fine: f.fine, shown: f.trusted}
	if n > 1 {
		c.samples, c.fine = reaching(n, f.samples, cal), reaching(n, f.fine, cal)
		c.shown = f.stretches(n, c.samples, ev.IntervalS, cal)
		cal.Keep -= cal.Alike
	}
	return clipsOf(c, ev, cal, termsIn([]finding{f}, cal))
}

// reaching turns samples of a subject into samples of its nth best object, n > 1, with the
// scores that [pairwise] or [lasting] counts.
func reaching(n int, samples []sample, cal Calibration) []sample {
	out := make([]sample, len(samples))
	for i, s := range samples {
		out[i] = sample{at: s.at}
		if len(s.scores) >= n {
			out[i].scores = []float64{max(s.nth(n), s.alike[n-1]+cal.Alike)}
		}
	}
	return out
}

// stretches are the parts of the trusted runs in which n instances, n > 1, are more likely
// visible than not. nth are the samples of the nth object. Samples that continue a stretch
// may be as weak as [lasting] allows.
func (f finding) stretches(n int, nth []sample, intervalS float64, cal Calibration) []run {
	var out []run
	follow := cal
	follow.Keep -= cal.Alike
	for _, trusted := range f.trusted {
		for _, r := range findRuns(nth[trusted.first:trusted.last+1], intervalS, follow) {
			r.first, r.last = r.first+trusted.first, r.last+trusted.first
			p := pairwise(f.samples[r.first:r.last+1], n, len(f.samples) == 1, cal)
			if p >= cal.Probability(cal.Faint) {
				r.best = cal.score(p) // the confidence of the clip is that of the number
				out = append(out, r)
			}
		}
	}
	return out
}
