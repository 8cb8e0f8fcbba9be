package answer

import (
	"cmp"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Gap is the time between two neighboring samples, in seconds. Evidence.Fine may hold
// frames inside of it.
type Gap struct{ AfterS, BeforeS float64 }

// EdgeGaps returns the gaps in which one of some terms appears or disappears, as far as it
// is trusted alone or with others. They are in the order of time and without repetition.
// When there are more than most, those of the best scores are returned.
func EdgeGaps(ev evidence.Evidence, terms []string, cal Calibration, most int) []Gap {
	ev = withDefaults(ev)
	best := map[Gap]float64{}
	for _, term := range visible(ev, terms, cal) {
		samples := samplesOf(observations(subjectClasses{mine: map[int]bool{term: true}, person: personIn(ev)}, ev, cal, false), unconditioned, cal)
		for _, r := range findRuns(samples, ev.IntervalS, cal) {
			if !r.supported {
				continue
			}
			for _, pair := range [][2]int{{r.first - 1, r.first}, {r.last, r.last + 1}} {
				if pair[0] < 0 || pair[1] == len(samples) {
					continue
				}
				e := Gap{samples[pair[0]].at, samples[pair[1]].at}
				if neighbors(e.AfterS, e.BeforeS, ev.IntervalS) {
					best[e] = max(best[e], r.best)
				}
			}
		}
	}
	return strongestGaps(best, most)
}

// visible are the indices in Evidence.Terms of those terms that any frame shows at Keep or
// more.
func visible(ev evidence.Evidence, terms []string, cal Calibration) []int {
	shown := make([]bool, len(ev.Terms))
	for _, f := range ev.Frames {
		for _, d := range f.Load(false).Detections {
			if d.Score >= cal.Keep && d.Term >= 0 && d.Term < len(shown) {
				shown[d.Term] = true
			}
		}
	}
	var at []int
	for i, term := range ev.Terms {
		if shown[i] && slices.Contains(terms, term) {
			at = append(at, i)
		}
	}
	return at
}

// fineOf are the samples of the fine frames. It is nil when a condition cannot be checked
// in a single frame: movement needs neighbors at the interval of the samples.
func fineOf(q query.Query, subject query.Subject, classes subjectClasses, ev evidence.Evidence, cal Calibration, details bool, scoreOf scorer) []sample {
	for _, c := range q.Conditions {
		if _, moves := c.Movement(); moves && c.Subject == subject.ID {
			return nil
		}
	}
	return samplesOf(observations(classes, evidence.Evidence{Frames: ev.Fine}, cal, details), scoreOf, cal)
}

// overlayFine combines the fine samples of findings as overlay does; nil when a finding has
// none.
func overlayFine(findings []finding, join func(a, b float64) float64, cal Calibration) []sample {
	fine := slices.Clone(findings[0].fine)
	for i := range fine {
		score := findings[0].worth(fine[i], cal)
		for _, f := range findings[1:] {
			if len(f.fine) != len(fine) {
				return nil
			}
			score = join(score, f.worth(f.fine[i], cal))
		}
		fine[i] = sample{at: fine[i].at, scores: []float64{score}, raw: score}
	}
	return fine
}

// outward is the edge of a run that ends at sample i in the direction of step. It is half
// way between the last sample or fine frame that shows the subject and the next one that
// does not. At the end of the samples it is half an interval away.
func outward(samples, fine []sample, i, step int, intervalS float64, cal Calibration) float64 {
	with := samples[i].at
	next := i + step
	if next < 0 || next >= len(samples) || !neighbors(min(with, samples[next].at), max(with, samples[next].at), intervalS) {
		return with + float64(step)*intervalS/2
	}
	without := samples[next].at
	from, _ := slices.BinarySearchFunc(fine, min(with, without), func(s sample, at float64) int { return cmp.Compare(s.at, at) })
	between := fine[from:]
	to, _ := slices.BinarySearchFunc(between, max(with, without), func(s sample, at float64) int { return cmp.Compare(s.at, at) })
	between = slices.Clone(between[:to])
	if step < 0 {
		slices.Reverse(between)
	}
	for _, s := range between {
		if s.best() < cal.Keep {
			without = s.at
			break
		}
		with = s.at
	}
	return with + (without-with)/2
}

// widened extends a clip to at least one interval, within 0 and limit.
func widened(start, end, intervalS, limit float64) (float64, float64) {
	if missing := intervalS - (end - start); missing > 0 {
		start = max(0, min(start-missing/2, limit-intervalS))
		end = min(limit, start+intervalS)
	}
	return start, end
}
