package answer

import (
	"maps"

	"vqa/domain/query"
)

// Opinion is what another model says of a few frames of a video. It is the model's own
// word: nothing of it was measured.
type Opinion struct {
	// Answer to the question as it was asked; Indeterminate when the model is unsure.
	Answer Answer
	// Confidence is the model's own, 0..1.
	Confidence float64
	// ShownAtS are the times, in seconds and in order, of the frames that show the thing
	// as it is asked about; for a question about absence, of those in which it is present.
	ShownAtS []float64
	// StepS is for how long, in seconds, the model was shown nothing between two frames,
	// at most, > 0.
	StepS float64
	// Count is the largest number seen in one frame, or nil.
	Count *int
}

const (
	// wordCap bounds the confidence in an opinion. What a model says of its own confidence
	// is not calibrated, so that by the contract's guidance it is marginal, never reliable
	// (api-v1.md, "Result rules" 9).
	opinionCap = .69
	// wordLeast is the confidence up to which an opinion is none.
	opinionLeast = .5
	// blindS is for how long, in seconds, a model may be shown nothing for its word that
	// something does not happen: most of what is asked about lasts longer.
	maxUnseenS = 2
)

// Doubtful reports whether another model may know more: whether the question has a closed
// form and found no answer.
func Doubtful(q query.Query, r Result) bool {
	return r.Answer == Indeterminate && q.PromptIntent != query.OpenEnded
}

// Second is the result of a [Doubtful] question after another model was asked. What
// contradicts itself, and a `no` that rests on too few frames, is no answer: then the first
// result stays, but that a refusal, after a look, is a low confidence.
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

// countSettles reports whether the number and the answer agree, and whether enough was seen
// for it: more may have been visible at another time, unless more would change nothing.
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

// shown are the terms that a yes to q shows: of alternatives nobody knows which.
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

// clips are the neighbourhoods of the frames that show it: each stands for half a step to
// both sides, as every sample does (open points, "Answers").
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
