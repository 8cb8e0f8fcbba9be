package answer

import (
	"strconv"

	"vqa/domain/query"
)

// MaxClips is the largest number of clips in a result (docs/contract.md#limits).
const MaxClips = 500

// docsPath is the page that explains which questions are answered, relative to the public
// base URL. The HTTP API makes it absolute, because a stored result outlives a change of
// that URL.
const docsPath = "/docs/questions"

// Answer is yes, no or indeterminate.
type Answer string

// The answers of the contract.
const (
	Yes           Answer = "yes"
	No            Answer = "no"
	Indeterminate Answer = "indeterminate"
)

// Clip is an interval of the video in which the answer holds: 0 <= StartS < EndS, in
// seconds.
type Clip struct {
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	// Confidence that the answer holds in this interval, 0..1.
	Confidence float64 `json:"confidence"`
	// Terms is the probability that each term is visible in it, 0..1.
	Terms map[string]float64 `json:"terms"`
}

// UnsupportedAction explains a refusal (docs/contract.md#result-7).
type UnsupportedAction struct {
	// Reason is one sentence for the caller.
	Reason string `json:"reason"`
	// DocsURL is the page that explains it, relative to the public base URL.
	DocsURL string `json:"docs_url"`
}

// Result is the result of an analysis (docs/contract.md#result). Clips and TermConfidences
// are never nil.
type Result struct {
	Answer Answer `json:"answer"`
	// Confidence in the answer, 0..1.
	Confidence float64 `json:"confidence"`
	// Clips are in order, at most MaxClips of them.
	Clips []Clip `json:"clips"`
	// TermConfidences is the probability that each term is visible at all, 0..1.
	TermConfidences map[string]float64 `json:"term_confidences"`
	QueryType       query.Type         `json:"query_type"`
	// VideoDurationS is nil when the duration is unknown.
	VideoDurationS *float64 `json:"video_duration_s"`
	// DetectedCount is set for count and threshold questions, else nil.
	DetectedCount       *int               `json:"detected_count"`
	IndeterminateReason *query.Reason      `json:"indeterminate_reason"`
	UnsupportedAction   *UnsupportedAction `json:"unsupported_action,omitempty"`
	// Undecided is one sentence that names the part of the question which could not be told; "" for other
	// results.
	Undecided string `json:"undecided,omitempty"`
	// CountEvidence are the intervals in which DetectedCount instances are visible at the
	// same time, in order, at most MaxClips. It is nil without a count, and for a count of
	// 0.
	CountEvidence []Clip `json:"count_evidence,omitempty"`
	// Receipt is nil in results from before there were receipts, and in those of Decide and
	// Refused.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// newResult is an indeterminate result without evidence. The rules fill it.
func newResult(q query.Query, durationS float64) Result {
	r := Result{
		Answer:          Indeterminate,
		Clips:           []Clip{},
		TermConfidences: map[string]float64{},
		QueryType:       q.QueryType,
	}
	if durationS > 0 {
		r.VideoDurationS = &durationS
	}
	return r
}

// indeterminate applies the result rules 1, 3 and 4 (docs/contract.md#result-1): no
// confidence and no clips. The count is 0 for a count question, and when nothing was
// detected.
func (r Result) indeterminate(q query.Query, reason query.Reason) Result {
	r.Answer, r.Confidence, r.IndeterminateReason = Indeterminate, 0, &reason
	r.Clips = []Clip{}
	if counts(q) || reason == query.NothingDetected {
		r.DetectedCount = new(int)
	}
	return r
}

// Refused is the result of a query that is not [Assessable]. It is indeterminate
// without examining the video, and not billed (docs/contract.md#result-7).
func Refused(q query.Query) Result {
	reason := Unsupported(q)
	r := newResult(q, 0).indeterminate(q, reason)
	for _, s := range q.Subjects {
		r.TermConfidences[s.Term] = 0
	}
	r.UnsupportedAction = &UnsupportedAction{Reason: refusal(q, reason), DocsURL: docsPath + "#" + string(q.PromptIntent)}
	return r
}

// Unknown is the result of a query when the model knows none of its subjects: nothing was
// detected, without examining the video. durationS is its length in seconds, or nil.
func Unknown(q query.Query, durationS *float64) Result {
	r := newResult(q, 0).indeterminate(q, query.NothingDetected)
	r.VideoDurationS = durationS
	for _, s := range q.Subjects {
		r.TermConfidences[s.Term] = 0
	}
	return r
}

// Word returns an answer as a person reads it: the number for a question that asks for one, else the answer
// itself. count is the detected count, or nil.
func Word(intent query.Intent, a Answer, count *int) string {
	if intent == query.Count && count != nil && a != Indeterminate {
		return strconv.Itoa(*count)
	}
	return string(a)
}

// Shown are the parts of the video that support the result: its clips or, for a count, its
// count evidence.
func (r Result) Shown() []Clip {
	if len(r.Clips) > 0 {
		return r.Clips
	}
	return r.CountEvidence
}

// counts reports whether a result of q carries a count.
func counts(q query.Query) bool {
	return q.PromptIntent == query.Count || q.PromptIntent == query.CountThreshold
}
