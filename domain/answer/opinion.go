package answer

import (
	"maps"

	"vqa/domain/query"
)

// Opinion is the answer of a vision model that was shown a few frames of a video. It is not
// calibrated.
type Opinion struct {
	// Answer to the question in its original wording; Indeterminate when the model is
	// unsure.
	Answer Answer
	// Confidence is the model's own estimate, 0..1.
	Confidence float64
	// ShownAtS are the times, in seconds and in order, of the frames that match the
	// question. For a question about absence, they are those in which the subject is
	// present.
	ShownAtS []float64
	// StepS is the longest time, in seconds, between two frames that the model was shown, >
	// 0.
	StepS float64
	// Count is the largest number in one frame, or nil.
	Count *int
}

const (
	// opinionCap bounds the confidence in an opinion. The model's own confidence is not
	// calibrated. Below 0.7 it counts as marginal, never as reliable
	// (docs/contract.md#result-9).
	opinionCap = .69
	// opinionLeast is the confidence that an opinion must exceed.
	opinionLeast = .5
	// maxUnseenS is the longest time, in seconds, between two frames for which a model's no
	// counts. Most subjects and actions last longer.
	maxUnseenS = 2
)

// Doubtful reports whether a vision model should be asked: the question has a closed form
// and no answer.
func Doubtful(q query.Query, r Result) bool {
	return r.Answer == Indeterminate && q.PromptIntent != query.OpenEnded
}

// WithOpinion is the result of a [Doubtful] question after a vision model was asked. An
// opinion that contradicts itself, or a no from too few frames, does not count. Then the
// first result stays. A refusal becomes a low confidence, because the video was examined.
func WithOpinion(q query.Query, first Result, o Opinion, durationS float64) Result {
	if !Doubtful(q, first) {
		return first
	}
	r := newResult(q, durationS)
	r.Receipt = first.Receipt
	maps.Copy(r.TermConfidences, first.TermConfidences)
	if !o.settles(q) {
		if first.UnsupportedAction == nil {
			return first
		}
		return r.indeterminate(q, query.LowConfidence)
	}
	r.Answer, r.Confidence = o.Answer, round4(min(o.Confidence, opinionCap))
	if counts(q) {
		r.DetectedCount = o.Count
		return r
	}
	if o.Answer == Yes && !q.Negated {
		terms := shown(q, r.Confidence)
		for term, p := range terms {
			r.TermConfidences[term] = max(r.TermConfidences[term], p)
		}
		if showsClips(q) {
			r.Clips = o.clips(windowOf(q, durationS), durationS, r.Confidence, terms)
		}
	}
	return r
}

// settles reports whether an opinion answers q.
func (o Opinion) settles(q query.Query) bool {
	if o.Answer != Yes && o.Answer != No || !(o.Confidence > opinionLeast && o.Confidence <= 1) || !(o.StepS > 0) {
		return false
	}
	if counts(q) {
		return o.Count != nil && *o.Count >= 0 && o.countSettles(q)
	}
	present := (o.Answer == Yes) != q.Negated
	if present {
		return len(o.ShownAtS) > 0
	}
	return len(o.ShownAtS) == 0 && o.StepS <= maxUnseenS
}

// countSettles reports whether the number agrees with the answer and enough frames were
// shown. More instances may have been visible between them, unless more would not change
// the answer.
func (o Opinion) countSettles(q query.Query) bool {
	yes := *o.Count > 0
	if q.PromptIntent == query.CountThreshold {
		yes = meets(*q.Subjects[0].Quantity, *o.Count)
		if op := q.Subjects[0].Quantity.Op; yes && (op == query.AtLeast || op == query.MoreThan) {
			return o.Answer == Yes
		}
	}
	return yes == (o.Answer == Yes) && o.StepS <= maxUnseenS
}

// meets reports whether exactly n instances satisfy a quantity.
func meets(quantity query.Quantity, n int) bool {
	switch quantity.Op {
	case query.AtLeast:
		return n >= quantity.Value
	case query.MoreThan:
		return n > quantity.Value
	case query.AtMost:
		return n <= quantity.Value
	case query.FewerThan:
		return n < quantity.Value
	default:
		return n == quantity.Value
	}
}

// shown are the terms that a yes to q shows. For alternatives it is unknown which.
func shown(q query.Query, confidence float64) map[string]float64 {
	terms := map[string]float64{}
	if len(q.Subjects) > 1 && q.Operator == query.Any {
		return terms
	}
	for _, s := range q.Subjects {
		if s.Quantity == nil || !meets(*s.Quantity, 0) {
			terms[s.Term] = confidence
		}
	}
	return terms
}

// clips are the intervals around the frames that match. Each frame stands for half a step
// to both sides, as every sample does (docs/contract.md#answer-clips).
func (o Opinion) clips(within interval, durationS, confidence float64, terms map[string]float64) []Clip {
	limit := durationS
	if !(limit > 0) {
		limit = o.ShownAtS[len(o.ShownAtS)-1] + o.StepS/2
	}
	clips := []Clip{}
	for _, at := range o.ShownAtS {
		clips = joinClip(clips, Clip{
			StartS: milli(max(0, at-o.StepS/2)), EndS: min(milli(at+o.StepS/2), limit), Confidence: confidence, Terms: maps.Clone(terms),
		}, o.StepS)
	}
	return within.trim(strongest(clips))
}
