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
	// Threshold is the score from which a detection counts, whatever else is seen, on
	// average over two neighbouring samples.
	Threshold float64
	// Faint is the lower score that counts too when it lasts for three samples and no
	// other class scores as much at the same place. It is worth even odds.
	Faint float64
	// Contest is the intersection over union from which a box of another class is at
	// the same place as a faint one.
	Contest float64
	// Firm is the score below which a person is worth half when the boxes of other classes
	// at the same place score Spread times as much together.
	Firm, Spread float64
	// Keep is the lower score that continues a sight begun at Threshold or Faint.
	Keep float64
	// Sustained is the number of samples from which a sight over Keep that is not
	// trusted leaves a `no` undecided: it lasts too long to be a flicker.
	Sustained int
	// Further is how much more every instance after the first must score: parts,
	// reflections and a blurred background pass for instances, and a count is the
	// largest of all samples.
	Further float64
	// Alike is the same for an instance that is about as large as the best one, where that
	// many last for Sustained samples.
	Alike float64
	// Flash is the score from which a sight that no neighbouring sample supports
	// leaves a `no` undecided, whatever conditions or other classes took from it: the best
	// of many samples is high by chance. What nothing was taken from does so from Faint on.
	Flash float64
	// Absence bounds the confidence of a `no` by the best score of the class that was
	// asked for: below Score it is at most Probability, and undecided where that is less
	// than even. Scores rise. Nil bounds nothing.
	Absence []Point
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

// CPUWeights is what the embedded worker calls its weights.
const CPUWeights = "centernet-mobilenetv3-512"

// CPU is the calibration of the embedded worker's model, CenterNet on COCO classes.
//
// The curve was measured on 97 pictures and pieces of video with what they show, 13 of
// them from the clips of the evaluation: 7,300 pairs of a class and a picture, of which 195
// were there. It is worth what a sight is worth of a class that somebody asks
// about, and not of one named at random: such a class is there about half of the time,
// and where it is not, it is about five times as often mistaken as any class, because
// people ask about what is likely to be there. So measured, faint sights are about even;
// of all classes not there, one in 150 passes, of those there nine in ten.
//
// Counts need more: with further instances from .35 on, and from .20 on where they last
// and are alike; parts, reflections and a blurred background pass below that. With .21
// instead of .20, and pictures of quality 3, 85 of 92 counts were right, one too high.
//
// Absence was measured on 23 labeled clips with 127 questions: a `no` was right
// in 99% of cases when the best score of the class was below .08, in 93% below .18, and in
// 44% between .18 and .25. Firm and Spread were measured on the same clips: the spread of
// classes at a person's box separates true from false persons with an area under the curve
// of .95, the score alone with .75.
//
// The curve was measured on pictures of JPEG quality 3. Quality 1 with deblocking moves the
// scores of what is there by +.002 on average and those of what is not by -.002 (3,376 boxes
// of the evaluation's eight clips with a score over .1), so the curve stays.
func CPU() Calibration {
	return Calibration{
		Vocabulary: query.COCO(),
		Curve: []Point{
			{0, .02}, {.10, .08}, {.15, .25}, {.18, .50}, {.20, .58}, {.25, .68}, {.30, .77}, {.35, .83}, {.42, .88}, {.50, .93}, {.60, .96}, {.75, .97}, {1, .99},
		},
		Threshold: .30,
		Faint:     .18,
		Contest:   .7,
		Firm:      .5,
		Spread:    1,
		Keep:      .16,
		Sustained: 4,
		Further:   .17,
		Alike:     .02,
		Flash:     .35,
		Absence:   []Point{{.08, .99}, {.18, .93}, {.25, .44}},
		Peak:      .55,
		Overlap:   .45,
		SamePlace: .85,
		Outvote:   1.25,
	}
}

// Probability is the calibrated probability of a raw score. Scores outside the curve
// are worth its nearest end; NaN is worth its first point.
func (c Calibration) Probability(score float64) float64 { return interpolate(c.Curve, score) }

// presence is the least probability that a class is there whose best score in the whole
// video is score: 1 less what a `no` may be sure of ([Calibration.Absence]).
func (c Calibration) presence(score float64) float64 {
	for _, band := range c.Absence {
		if score < band.Score {
			return 1 - band.Probability
		}
	}
	return 0
}

// score is the raw score that is worth a probability, 0 for one below the curve.
func (c Calibration) score(probability float64) float64 {
	if len(c.Curve) == 0 {
		return 0
	}
	inverse := make([]Point, len(c.Curve))
	for i, p := range c.Curve {
		inverse[i] = Point{Score: p.Probability, Probability: p.Score}
	}
	return interpolate(inverse, probability)
}

// interpolate is the value of a curve at x, linear between its points.
func interpolate(curve []Point, x float64) float64 {
	if len(curve) == 0 {
		return 0
	}
	last := curve[0]
	if !(x > last.Score) {
		return last.Probability
	}
	for _, p := range curve[1:] {
		if x <= p.Score {
			share := (x - last.Score) / (p.Score - last.Score)
			return last.Probability + share*(p.Probability-last.Probability)
		}
		last = p
	}
	return last.Probability
}
