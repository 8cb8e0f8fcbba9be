package answer

import (
	"math"

	"vqa/domain/answer/predicate"
)

// axis is the time of a series: its values belong to frames that may be at any distance.
type axis struct {
	*predicate.Scene
	// cells are the seconds that each frame stands for: half way to its neighbors, at most half an interval.
	cells []float64
	// durationS is the length of the video in seconds, 0 when unknown.
	durationS float64
}

func newAxis(s *predicate.Scene, durationS float64) axis {
	a := axis{Scene: s, cells: make([]float64, len(s.Times)), durationS: durationS}
	for i := range a.cells {
		a.cells[i] = a.before(i) + a.after(i)
	}
	return a
}

// before and after are the seconds to either side that a frame stands for.
func (a axis) before(i int) float64 {
	if i == 0 {
		return a.IntervalS / 2
	}
	return min(a.Times[i]-a.Times[i-1], a.IntervalS) / 2
}

func (a axis) after(i int) float64 {
	if i+1 == len(a.Times) {
		return a.IntervalS / 2
	}
	return a.before(i + 1)
}

// best is the probability that a statement holds at some time: the largest mean over some seconds.
// With fewer frames it is the mean of all.
func (a axis) best(p []float64, seconds float64) float64 {
	_, best := a.peak(p, seconds)
	return best
}

// peak is best with the frames of that time.
func (a axis) peak(p []float64, seconds float64) (at span, best float64) {
	sum, width, first := 0.0, 0.0, 0
	enough := func(s float64) bool { return s >= seconds-1e-6 }
	for i := range p {
		sum, width = sum+p[i]*a.cells[i], width+a.cells[i]
		for first < i && enough(width-a.cells[first]) {
			sum, width = sum-p[first]*a.cells[first], width-a.cells[first]
			first++
		}
		if enough(width) || i == len(p)-1 && first == 0 {
			if mean := sum / width; mean > best {
				at, best = span{first, i}, mean
			}
		}
	}
	return at, min(best, 1)
}

// span are the frames first to last.
type span struct{ first, last int }

// spans are the intervals in which a statement holds: those of the most probable path between holding
// and not, where each change costs stay. lift is added to the log odds of each frame.
func (a axis) spans(p []float64, lift, stay float64) []span {
	n := len(p)
	if n == 0 {
		return nil
	}
	const most = 4 // log odds of one sample
	off, on := 0.0, 0.0
	fromOn, fromOff := make([]bool, n), make([]bool, n) // the state before that of the frame is the other
	for i := range p {
		e := min(max(logit(p[i])+lift, -most), most) * min(a.cells[i]/a.IntervalS, 1)
		if i == 0 {
			on = e
			continue
		}
		wasOff, wasOn := off, on
		if fromOn[i] = wasOn-stay > wasOff; fromOn[i] {
			off = wasOn - stay
		}
		if fromOff[i] = wasOff-stay > wasOn; fromOff[i] {
			on = wasOff - stay
		}
		on += e
	}
	var out []span
	state := on > off
	for i := n - 1; i >= 0; i-- {
		if state {
			if m := len(out); m > 0 && out[m-1].first == i+1 {
				out[m-1].first = i
			} else {
				out = append(out, span{i, i})
			}
		}
		if state && fromOff[i] || !state && fromOn[i] {
			state = !state
		}
	}
	for l, r := 0, len(out)-1; l < r; l, r = l+1, r-1 {
		out[l], out[r] = out[r], out[l]
	}
	return out
}

// times are the ends of a span in seconds. One that begins with the first frame begins with the video,
// and one that ends with the last frame ends with it.
func (a axis) times(s span) (start, end float64) {
	start, end = a.Times[s.first]-a.before(s.first), a.Times[s.last]+a.after(s.last)
	if s.first == 0 && start < a.IntervalS {
		start = 0
	}
	limit := a.durationS
	if !(limit > 0) { // the video reaches at least as far as its last frame
		limit = a.Times[len(a.Times)-1] + a.IntervalS
	} else if s.last == len(a.Times)-1 && limit-end < a.IntervalS {
		end = limit
	}
	start, end = max(0, start), min(limit, end)
	if missing := a.IntervalS - (end - start); missing > 0 {
		start = max(0, min(start-missing/2, limit-a.IntervalS))
		end = min(limit, start+a.IntervalS)
	}
	return milli(start), min(milli(end), limit)
}

// milli rounds seconds to milliseconds.
func milli(s float64) float64 { return math.Round(s*1e3) / 1e3 }

// round4 rounds a probability to four digits, which is finer than its accuracy.
func round4(p float64) float64 { return math.Round(p*1e4) / 1e4 }
