package answer

import "vqa/domain/query"

// Point says what a raw score is worth: the share of detections with that score that
// were right when measured.
type Point struct{ Score, Probability float64 }

// Calibration is what is known about one model. All scores are raw scores, 0..1.
type Calibration struct {
	// Vocabulary maps the terms of a query to the model's classes.
	Vocabulary query.Vocabulary
	// Curve maps raw scores to probabilities, linear between its points; both
	// coordinates rise. Its first point is worth what an object is that the model
	// did not see at all, so that no `no` is ever certain.
	Curve []Point
	// Threshold is the score from which a detection counts.
	Threshold float64
	// Keep is the lower score that continues a sight begun at Threshold.
	Keep float64
	// Sustained is the number of samples from which a sight that stays between Keep
	// and Threshold leaves a `no` doubtful: such sights were right about as often as
	// wrong.
	Sustained int
	// Peak is the score that is trusted in a single sample.
	Peak float64
	// Overlap is the intersection over union from which two boxes are one object.
	Overlap float64
	// SamePlace is the intersection over union from which boxes of different
	// subjects are rival readings of one object.
	SamePlace float64
	// Outvote is how much more than the subject, as a factor of summed scores, a
	// rival class must score over a run to take it.
	Outvote float64
}

// CPU is the calibration of the embedded worker's model, CenterNet on COCO classes.
// The curve was measured on labelled frames; .35 is where a detection is as often
// right as wrong.
func CPU() Calibration {
	return Calibration{
		Vocabulary: query.COCO(),
		Curve: []Point{
			{0, .02}, {.30, .10}, {.35, .50}, {.42, .75}, {.50, .85}, {.60, .93}, {.75, .97}, {1, .99},
		},
		Threshold: .35,
		Keep:      .25,
		Sustained: 4,
		Peak:      .55,
		Overlap:   .45,
		SamePlace: .85,
		Outvote:   1.25,
	}
}

// Probability is the calibrated probability of a raw score. Scores outside the curve
// are worth its nearest end; NaN is worth its first point.
func (c Calibration) Probability(score float64) float64 {
	if len(c.Curve) == 0 {
		return 0
	}
	last := c.Curve[0]
	if !(score > last.Score) {
		return last.Probability
	}
	for _, p := range c.Curve[1:] {
		if score <= p.Score {
			share := (score - last.Score) / (p.Score - last.Score)
			return last.Probability + share*(p.Probability-last.Probability)
		}
		last = p
	}
	return last.Probability
}
