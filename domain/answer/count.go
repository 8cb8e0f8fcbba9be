package answer

import "vqa/domain/query"

// tally is the probability, at index k, that at least k instances are visible at the same
// time. It starts with 1 and does not rise. Beyond its end, the last entry applies: the
// probability of an object without any detection.
type tally []float64

func (t tally) atLeast(k int) float64 {
	if k <= 0 {
		return 1
	}
	return t[min(k, len(t)-1)]
}

// tallyOf computes the probability of each number of instances. It takes the two
// neighboring samples that show the number best, each with the score of its weakest
// instance (docs/contract.md#answer-count). One instance has the probability of presence,
// so that both question forms agree about the same video.
func tallyOf(samples []sample, trusted []run, visible float64, cal Calibration) tally {
	most := 0
	for _, r := range trusted {
		for i := r.first; i <= r.last; i++ {
			most = max(most, len(samples[i].scores))
		}
	}
	t := tally{1, visible}
	for k := 2; k <= most+1; k++ {
		p := cal.Probability(0)
		for _, r := range trusted {
			p = max(p, pairwise(samples[r.first:r.last+1], k, len(samples) == 1, cal))
		}
		t = append(t, min(p, t[k-1]))
	}
	if len(t) == 2 {
		t = append(t, min(cal.Probability(0), visible))
	}
	return t
}

// pairwise is the probability of k instances, k > 1. It comes from the best two neighbors
// or from the only frame of the video. It may also come from k instances of the same size
// throughout Sustained samples.
func pairwise(samples []sample, k int, single bool, cal Calibration) float64 {
	firm := func(s sample) float64 { return cal.Probability(s.nth(k) - cal.Further) }
	if single {
		return firm(samples[0])
	}
	best := cal.Probability(0)
	for i := range samples {
		best = max(best, least(samples[i:], 2, firm), lasting(samples[i:], k, cal))
	}
	return best
}

// lasting is the probability of k instances of the same size in all of the first Sustained
// samples, by the mean score of the kth. In one sample the score may be below Keep by
// Alike, because scores of the same object vary that much between samples.
func lasting(samples []sample, k int, cal Calibration) float64 {
	if len(samples) < cal.Sustained {
		return 0
	}
	sum := 0.0
	for _, s := range samples[:cal.Sustained] {
		if len(s.alike) < k || s.alike[k-1] < cal.Keep-2*cal.Alike {
			return 0
		}
		sum += s.alike[k-1]
	}
	return cal.Probability(sum / float64(cal.Sustained))
}

// least is the smallest value of the first n samples, 0 when there are fewer.
func least(samples []sample, n int, of func(sample) float64) float64 {
	if n > len(samples) {
		return 0
	}
	p := 1.0
	for _, s := range samples[:n] {
		p = min(p, of(s))
	}
	return p
}

// count is the largest number of instances whose probability reaches the threshold.
func (t tally) count(threshold float64) int {
	n := 0
	for n+1 < len(t) && t[n+1] >= threshold {
		n++
	}
	return n
}

// exactly is the confidence that n is the exact number (docs/contract.md#result-5).
func (t tally) exactly(n int) float64 { return t.atLeast(n) * (1 - t.atLeast(n+1)) }

// byCount answers a count or a threshold question.
func byCount(r Result, q query.Query, t tally, threshold float64) Result {
	n := t.count(threshold)
	r.DetectedCount = &n
	if q.PromptIntent == query.Count {
		r.Answer, r.Confidence = No, round4(t.exactly(n))
		if n > 0 {
			r.Answer = Yes
		}
		return r
	}
	yes, p := holds(*q.Subjects[0].Quantity, n, t)
	r.Answer, r.Confidence = No, round4(p)
	if yes {
		r.Answer = Yes
	}
	return r
}

// holds reports whether n satisfies a quantity, with the confidence in that.
func holds(quantity query.Quantity, n int, t tally) (yes bool, confidence float64) {
	reach := func(k int) (bool, float64) {
		if n >= k {
			return true, t.atLeast(k)
		}
		return false, 1 - t.atLeast(k)
	}
	v := quantity.Value
	switch quantity.Op {
	case query.AtLeast:
		return reach(v)
	case query.MoreThan:
		return reach(v + 1)
	case query.FewerThan:
		yes, confidence = reach(v)
		return !yes, confidence
	case query.AtMost:
		yes, confidence = reach(v + 1)
		return !yes, confidence
	default:
		return equals(v, n, t)
	}
}

func equals(v, n int, t tally) (yes bool, confidence float64) {
	switch {
	case n == v:
		return true, t.exactly(n)
	case n > v:
		return false, t.atLeast(v + 1)
	default:
		return false, 1 - t.atLeast(v)
	}
}
