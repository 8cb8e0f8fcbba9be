package queue

import (
	"cmp"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// unknownLengthS stands for the length of a video, in seconds, when no length is known.
const unknownLengthS = 60

// Lengths replaces each length that is not known (nil, or not above 0) with the mean of the
// known ones. All lengths are in seconds.
func Lengths(known []*float64) []float64 {
	lengths := make([]float64, len(known))
	total, n := 0.0, 0
	for i, s := range known {
		if s != nil && *s > 0 {
			lengths[i], total, n = *s, total+*s, n+1
		}
	}
	mean := float64(unknownLengthS)
	if n > 0 {
		mean = total / float64(n)
	}
	for i := range lengths {
		lengths[i] = cmp.Or(lengths[i], mean)
	}
	return lengths
}

// Surveyed says which queries the stored survey of a video can answer. The zero value is a
// video without a survey.
type Surveyed struct{ detections, keypoints, dense bool }

// With adds what the scan for a query found. A query that is not assessable was refused
// without a scan and adds nothing.
func (s Surveyed) With(q query.Query) Surveyed {
	if !answer.Assessable(q) {
		return s
	}
	return Surveyed{detections: true, keypoints: s.keypoints || answer.NeedsPose(q), dense: s.dense || answer.NeedsDenseSamples(q)}
}

// Covers reports whether the survey answers a query without another scan.
func (s Surveyed) Covers(q query.Query) bool {
	return s.detections && (s.keypoints || !answer.NeedsPose(q)) && (s.dense || !answer.NeedsDenseSamples(q))
}
