package answer

import "vqa/domain/query"

// MaxClips is the largest number of clips in a result (api-v1.md, "Limits").
const MaxClips = 500

// DocsPath is the page that explains which questions are answered, relative to the
// public base URL. The edge makes it absolute, because a stored result outlives a
// change of that URL.
const DocsPath = "/docs/questions"

// Answer is the closed set of answers.
type Answer string

// The answers of the contract.
const (
	Yes           Answer = "yes"
	No            Answer = "no"
	Indeterminate Answer = "indeterminate"
)

// Clip is a part of the video in which the answer applies: 0 <= StartS < EndS, in
// seconds.
type Clip struct {
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	// Confidence that the answer applies in this part, 0..1.
	Confidence float64 `json:"confidence"`
	// Terms is the probability that each term is visible in it, 0..1.
	Terms map[string]float64 `json:"terms"`
}

// UnsupportedAction explains a refusal (result rule 7).
type UnsupportedAction struct {
	// Reason is one sentence for people.
	Reason string `json:"reason"`
	// DocsURL is the page that explains it, relative to the public base URL.
	DocsURL string `json:"docs_url"`
}

// Result is the result of an analysis, as the contract shows it (api-v1.md,
// "Result"). Clips and TermConfidences are never nil.
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
	// CountEvidence are the parts of the video in which DetectedCount instances are visible
	// at the same time: in order, at most MaxClips. Nil where there is no count or it is 0.
	CountEvidence []Clip `json:"count_evidence,omitempty"`
	// Receipt says what the result rests on; nil where it was made before there were
	// receipts, and in what Decide and Refused return.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// newResult is an indeterminate result without evidence, which the rules then fill.
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

// indeterminate applies rules 1, 3 and 4: no confidence, no clips, and a count of 0 for a count
// question and wherever nothing was detected.
func (r Result) indeterminate(q query.Query, reason query.Reason) Result {
	r.Answer, r.Confidence, r.IndeterminateReason = Indeterminate, 0, &reason
	r.Clips = []Clip{}
	if counts(q) || reason == query.NothingDetected {
		r.DetectedCount = new(int)
	}
	return r
}

// Refused is the result of a query that is not [query.Assessable]: indeterminate at
// once, without looking at the video, and not billed (result rule 7).
func Refused(q query.Query) Result {
	reason := query.Unsupported(q)
	r := newResult(q, 0).indeterminate(q, reason)
	for _, s := range q.Subjects {
		r.TermConfidences[s.Term] = 0
	}
	r.UnsupportedAction = &UnsupportedAction{Reason: refusal(q, reason), DocsURL: DocsPath + "#" + string(q.PromptIntent)}
	return r
}

// Unknown is the result of a query of whose subjects the model knows none: nothing was detected,
// without looking at the video. durationS is its length in seconds, or nil.
func Unknown(q query.Query, durationS *float64) Result {
	r := newResult(q, 0).indeterminate(q, query.NothingDetected)
	r.VideoDurationS = durationS
	for _, s := range q.Subjects {
		r.TermConfidences[s.Term] = 0
	}
	return r
}

// Shown are the parts of the video that show what the result says: its clips or, of a
// count, its evidence.
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
