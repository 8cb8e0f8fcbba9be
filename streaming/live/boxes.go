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

// sameObject is the intersection over union from which two boxes are one object.
const sameObject = .45

// shownDetections are the objects of a sample that a question names, the surest first. An object is shown
// from even odds on. Conditions of the question do not select among them.
func shownDetections(q query.Query, terms []string, all []evidence.Detection, rules answer.Calibration) []stream.Detection {
	names := map[int]string{} // of the classes that the question names
	for _, term := range q.SearchTerms {
		classes, ok := rules.Vocabulary.Lookup(term)
		if !ok {
			classes = []string{term}
		}
		for _, class := range classes {
			if i := slices.Index(terms, class); i >= 0 && names[i] == "" {
				names[i] = term
			}
		}
	}
	var found []evidence.Detection
	for _, d := range all {
		if names[d.Term] != "" && rules.Probability(terms[d.Term], d.Score) >= rules.Yes {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(a, b evidence.Detection) int { return cmp.Compare(b.Score, a.Score) })
	var kept []evidence.Detection
	var shown []stream.Detection
	for _, d := range found {
		twin := slices.ContainsFunc(kept, func(k evidence.Detection) bool {
			return names[k.Term] == names[d.Term] && evidence.IoU(k.Box, d.Box) >= sameObject
		})
		if twin || len(shown) == stream.MaxDetections {
			continue
		}
		kept = append(kept, d)
		b := d.Box.InFrame()
		shown = append(shown, stream.Detection{
			Term: names[d.Term], Confidence: digits(rules.Probability(terms[d.Term], d.Score)),
			Box: [4]float64{digits(b.X1), digits(b.Y1), digits(max(0, b.X2-b.X1)), digits(max(0, b.Y2-b.Y1))},
		})
	}
	return shown
}

// digits rounds to four digits, a twentieth of a pixel of the sample.
func digits(x float64) float64 { return math.Round(x*1e4) / 1e4 }
