package live

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/stream"
)

// shownDetections are the objects in the newest frame of some evidence that a question names, the surest
// first. An object is shown where an answer would take it to be there. Conditions of the question do not
// select among them.
func shownDetections(q query.Query, ev evidence.Evidence, rules answer.Calibration) []stream.Detection {
	ev.Frames, ev.Fine = ev.Frames[max(0, len(ev.Frames)-1):], nil
	things := make([]query.Thing, len(q.SearchTerms))
	for i, term := range q.SearchTerms {
		things[i].Term = term
	}
	o := answer.Observe(ev, rules, things...)
	var shown []stream.Detection
	for i, term := range q.SearchTerms {
		for _, t := range o.Tracks(i) {
			if b, p := t.Box(0), t.P(0); p >= rules.Yes {
				shown = append(shown, stream.Detection{
					Term: term, Confidence: digits(min(p, rules.CapYes)),
					Box: [4]float64{digits(b.X1), digits(b.Y1), digits(max(0, b.X2-b.X1)), digits(max(0, b.Y2-b.Y1))},
				})
			}
		}
	}
	slices.SortStableFunc(shown, func(a, b stream.Detection) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return shown[:min(len(shown), stream.MaxDetections)]
}

// digits rounds to four digits, a twentieth of a pixel of the sample.
func digits(x float64) float64 { return math.Round(x*1e4) / 1e4 }
