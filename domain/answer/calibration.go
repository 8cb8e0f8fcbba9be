package answer

import "vqa/domain/query/vocabulary"

// Point is a raw score and its probability: the share of detections with that score that
// were right when measured.
type Point struct{ Score, Probability float64 }

// Calibration holds the measurements of one model. All scores are raw scores, 0..1.
type Calibration struct {
	// Vocabulary maps the terms of a query to the model's classes.
	Vocabulary vocabulary.Vocabulary
	// Curve maps raw scores to probabilities, linear between its points. Both coordinates
	// rise. Its first point is the probability of an object without any detection, so that
	// a no is never certain.
	Curve []Point
	// Threshold is the score from which a detection counts, as the mean of two neighboring
	// samples. It counts even where another class scores as much at the same place.
	Threshold float64
	// Faint is the lower score from which a detection counts when it lasts for three
	// samples. No other class may score as much at the same place. Its probability is even
	// odds.
	Faint float64
	// Contest is the intersection over union from which a box of another class is at the
	// same place as a weak one.
	Contest float64
	// Firm is the score below which a person may be worth half. That is so when all other
	// classes at the same place together score Spread times as much.
	Firm, Spread float64
	// Keep is the lower score that continues a run begun at Threshold or Faint.
	Keep float64
	// Sustained is the number of samples at Keep from which a run that is not trusted
	// leaves a no undecided. It lasts too long to be a flicker.
	Sustained int
	// Further is the score that every instance after the first must have in addition.
	// Parts, reflections and a blurred background pass for instances, and a count is the
	// largest of all samples.
	Further float64
	// Alike is the same for instances about as large as the best one, when that many last
	// for Sustained samples.
	Alike float64
	// Flash is the score from which a detection without support by a neighboring sample
	// leaves a no undecided. It does so even when conditions or other classes lowered its
	// score. The best of many samples is high by chance. A score that was not lowered
	// leaves a no undecided from Faint on.
	Flash float64
	// Absence bounds the confidence of a no by the best score of the class. Below Score it
	// is at most Probability; when that is less than even, the answer is undecided. Scores
	// rise. Nil bounds nothing.
	Absence []Point
	// Peak is the score that a single sample needs to be trusted.
	Peak float64
	// Overlap is the intersection over union from which two boxes are one object.
	Overlap float64
	// SamePlace is the intersection over union from which boxes of different subjects are
	// rival detections of one object.
	SamePlace float64
	// Outvote is the factor by which a rival class must outscore the subject, summed over a
	// run, to take its place.
	Outvote float64
}

// CPUWeights is the name of the weights of the embedded worker.
const CPUWeights = "centernet-mobilenetv3-640"

// CPU is the calibration of the embedded worker's model, CenterNet on COCO classes.
//
// The curve was measured on 97 labeled pictures and pieces of video, 13 of them from the
// clips of the evaluation. They have 7,300 pairs of a class and a picture; in 195 the class
// is present. The curve is for classes that people ask about, not for random classes. Such
// a class is present about half of the time. When it is absent, it is mistaken about five
// times as often as a random class, because people ask about likely objects. Measured like
// that, a weak detection is about as often true as false. Of all absent classes, one in 150
// passes; of present ones, nine in ten.
//
// Counts need more: further instances count from .35 on, and from .20 on when they last and
// have the same size. Parts, reflections and a blurred background score below that. With
// .21 instead of .20, and pictures of JPEG quality 3, 85 of 92 counts were right and one
// was too high.
//
// Absence was measured on 23 labeled clips with 127 questions. With a best score of the
// class below .08, 99% of the answers no were right. It was 93% below .18, and 44% between
// .18 and .25. Firm and Spread were measured on the same clips. The spread of classes at a
// person's box separates true from false persons with an area under the curve of .95. The
// score alone has .75.
//
// The curve was measured on pictures of JPEG quality 3. Quality 1 with deblocking changes the
// scores of present objects by +.002 on average and those of absent ones by -.002. These are
// 3,376 boxes with a score over .1 in the evaluation's eight clips. So the curve stays.
func CPU() Calibration {
	return Calibration{
		Vocabulary: vocabulary.COCO(),
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

// Probability is the calibrated probability of a raw score. Scores outside of the curve
// have that of its nearest end, NaN that of its first point.
func (c Calibration) Probability(score float64) float64 { return interpolate(c.Curve, score) }

// presence is the least probability that a class is present, by its best score in the whole
// video. It is 1 less the largest confidence of a no ([Calibration.Absence]).
func (c Calibration) presence(score float64) float64 {
	for _, band := range c.Absence {
		if score < band.Score {
			return 1 - band.Probability
		}
	}
	return 0
}

// score is the raw score of a probability; 0 for one below the curve.
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
