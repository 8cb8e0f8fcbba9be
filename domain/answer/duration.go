package answer

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

const (
	// farSteps and farShare say how far the decoded length may be from the planned one: two sampling
	// steps, because a video may end up to one step after its last sample, and 5% of the planned length.
	farSteps = 2
	farShare = .05
)

// Mismatch returns the result of a question about a time that the video does not have, or whose length is far from
// plannedS, which was known before the scan (nil if it was not). Other questions have no mismatch
// (docs/contract.md#result-8).
func Mismatch(q query.Query, ev evidence.Evidence, plannedS *float64) (Result, bool) {
	temporal, beyond := false, false
	for _, c := range q.Conditions {
		if w, ok := c.Window(); ok {
			temporal, beyond = true, beyond || w.Beyond(ev.DurationS)
		}
	}
	far := plannedS != nil && math.Abs(*plannedS-ev.DurationS) > max(farSteps*ev.IntervalS, farShare**plannedS)
	if !temporal || !beyond && !far {
		return Result{}, false
	}
	r := newResult(q, ev.DurationS).indeterminate(q, query.DurationMismatch)
	for _, s := range q.Subjects {
		r.TermConfidences[s.Term] = 0
	}
	return r, true
}
