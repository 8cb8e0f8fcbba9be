package answer

import (
	"math"
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query/vocabulary"
)

// Calibration holds the vocabulary and the measured parameters of one model. All scores are raw scores,
// 0..1.
type Calibration struct {
	// Vocabulary maps the terms of a query to the model's classes.
	Vocabulary vocabulary.Vocabulary
	Parameters
}

// CPUWeights is the name of the weights of the embedded worker.
const CPUWeights = "centernet-mobilenetv3-640"

// CPU is the calibration of the embedded worker's model, CenterNet on COCO classes.
func CPU() Calibration { return Calibrations{}.For(CPUWeights, vocabulary.COCO().Names()) }

// Kind is a group of classes whose scores mean about the same.
type Kind string

// The closed list of kinds. KindBig are furniture and large appliances, KindSmall is every other class.
const (
	KindPerson  Kind = "person"
	KindAnimal  Kind = "animal"
	KindVehicle Kind = "vehicle"
	KindBig     Kind = "big"
	KindSmall   Kind = "small"
)

var kinds = map[Kind][]string{
	KindPerson:  {"person"},
	KindAnimal:  {"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"},
	KindVehicle: {"bicycle", "car", "motorcycle", "bus", "train", "truck", "airplane", "boat"},
	KindBig:     {"bench", "chair", "couch", "potted plant", "bed", "dining table", "toilet", "tv", "microwave", "oven", "sink", "refrigerator"},
}

// KindOf is the kind of a class.
func KindOf(class string) Kind {
	for kind, classes := range kinds {
		if slices.Contains(classes, class) {
			return kind
		}
	}
	return KindSmall
}

// Exclusive reports whether two classes cannot be at one place: animals, and vehicles on the road.
func Exclusive(a, b string) bool {
	road := kinds[KindVehicle][:6]
	return KindOf(a) == KindAnimal && KindOf(b) == KindAnimal || slices.Contains(road, a) && slices.Contains(road, b)
}

// logOdds of a detection of a class.
func (p Parameters) logOdds(class string, score, rivals float64) float64 {
	switch l := p.Objects.logOdds(score, rivals); KindOf(class) {
	case KindPerson:
		return p.Persons.logOdds(score, rivals)
	case KindAnimal:
		return l + p.Kinds.Animal
	case KindVehicle:
		return l + p.Kinds.Vehicle
	case KindBig:
		return l + p.Kinds.Big
	default:
		return l + p.Kinds.Small
	}
}

// Probability is that of a class at a raw score, if no other class is detected at the place, from Floor to
// CapYes.
func (p Parameters) Probability(class string, score float64) float64 {
	if !(score > 0) {
		return p.Floor
	}
	return min(max(p.Floor, sigmoid(p.logOdds(class, min(score, 1), 0))), p.CapYes)
}

// Even is the raw score at which a class is as probably there as not.
func (p Parameters) Even(class string) float64 {
	l := p.Objects
	if KindOf(class) == KindPerson {
		l = p.Persons
	}
	return math.Exp(-p.logOdds(class, 1, 0) / l.Score)
}

// outvotes is how many times as much another class must score at the same place to rule this one out.
// Without it, a kite at .9 that is an airplane at .2 was an airplane too.
const outvotes = 2

// maxRivals bounds the scores of rivals, in scores of the object.
const maxRivals = 3

// probabilityAmong returns a detection's probability beside the frame's other detections. Classes in mine
// count as the same thing, so they are no rivals.
func (p Parameters) probabilityAmong(d evidence.Detection, f predicate.Frame, mine []bool) float64 {
	rivals, excluded := 0.0, 0.0
	for _, o := range f.Detections {
		if mine[o.Term] {
			continue
		}
		overlap := evidence.IoU(o.Box, d.Box)
		if overlap >= p.RivalOverlap {
			rivals += o.Score
		}
		excludes := overlap >= .5 && Exclusive(f.Terms[d.Term], f.Terms[o.Term]) || overlap >= p.RivalOverlap && o.Score > outvotes*d.Score
		if p.Exclusion > 0 && excludes && KindOf(f.Terms[d.Term]) != KindPerson {
			excluded += math.Pow(o.Score, p.Exclusion)
		}
	}
	out := sigmoid(p.logOdds(f.Terms[d.Term], d.Score, min(rivals/d.Score, maxRivals)))
	if excluded > 0 {
		own := math.Pow(d.Score, p.Exclusion)
		out *= own / (own + excluded)
	}
	return out
}

// linker follows objects. A track may miss one sample, however far apart the samples are, unless the
// object was on its way out of the picture.
func (p Parameters) linker(ev evidence.Evidence) evidence.Linker {
	return evidence.Linker{Aspect: ev.AspectRatio(), GapS: max(p.GapS, 2.1*ev.IntervalS), Overlap: p.LinkOverlap, Distance: p.LinkDistance, GoneS: 1.5 * ev.IntervalS}
}

// Calibrations are measured calibrations, by the name of the weights (gpu.Info, Weights). Those that are
// part of the program may be missing.
type Calibrations map[string]Calibration

// For returns the calibration of a model. Without a measured one for its weights it is [Unmeasured].
// classes are the classes that the model reports; a model without any is open and takes every term.
func (m Calibrations) For(weights string, classes []string) Calibration {
	cal, measured := m[weights]
	if p, ok := embedded[weights]; ok && !measured {
		cal = Calibration{Parameters: p}
	} else if !measured {
		cal = Unmeasured()
	}
	if cal.Vocabulary = vocabulary.Of(slices.Clone(classes)); cal.Vocabulary.Open() {
		// Free terms need not exclude each other: a woman is a person too.
		cal.Objects.Rivals, cal.Persons.Rivals, cal.Exclusion = 0, 0, 0
	}
	return cal
}

// marginal is the largest confidence that is not reliable (docs/contract.md#result-9).
const marginal = .69

// Unmeasured is the calibration of a model that was not measured. It assumes only that higher scores are
// better: even odds at .30, and no answer surer than .69.
func Unmeasured() Calibration {
	p := embedded[CPUWeights]
	p.Weights, p.Quality, p.Keep, p.Kinds, p.Exclusion = "", nil, .25, Kinds{}, 0
	p.Objects = Logistic{Constant: .8, Score: .66}
	p.Persons = p.Objects
	p.CapYes, p.CapNo, p.CapPrior = marginal, marginal, marginal
	return Calibration{Parameters: p}
}
