package client

import (
	"encoding/json"
	"time"

	"vqa/domain/query"
)

// Video has the fields of a video that the command line uses.
type Video struct {
	ID        string   `json:"id"`
	Status    string   `json:"status"`
	DurationS *float64 `json:"duration_s"`
	Upload    *struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	} `json:"upload"`
	Error *Error `json:"error"`
}

// Analysis has the fields of an analysis that the command line uses.
type Analysis struct {
	ID       string  `json:"id"`
	Livemode bool    `json:"livemode"`
	Status   string  `json:"status"`
	VideoID  string  `json:"video_id"`
	Prompt   *string `json:"prompt"`
	// StartedAt is nil when the analysis ended without examining the video.
	StartedAt *time.Time `json:"started_at"`
	Query     struct {
		PromptIntent string          `json:"prompt_intent"`
		Subjects     []query.Subject `json:"subjects"`
	} `json:"query"`
	// Suggestions are questions that are answered. They come with one that is not.
	Suggestions []string `json:"suggestions"`
	Model       string   `json:"model"`
	Progress    *struct {
		Stage   string  `json:"stage"`
		Percent float64 `json:"percent"`
	} `json:"progress"`
	QueuePosition   *int    `json:"queue_position"`
	EstimatedStartS *int    `json:"estimated_start_s"`
	Result          *Result `json:"result"`
	Narrative       *struct {
		Status  string `json:"status"`
		Entries []struct {
			AtS  float64 `json:"t_s"`
			Text string  `json:"text"`
		} `json:"entries"`
	} `json:"narrative"`
	Artifacts *struct {
		AnnotatedVideoURL string  `json:"annotated_video_url"`
		ContactSheetURL   *string `json:"contact_sheet_url"`
	} `json:"artifacts"`
	Error *Error `json:"error"`
	Usage *struct {
		BilledSeconds      int64  `json:"billed_seconds"`
		CreditBalanceAfter *int64 `json:"credit_balance_after"`
	} `json:"usage"`
	// Raw is the JSON that the server sent.
	Raw json.RawMessage `json:"-"`
}

// Clip is an interval of the video in which the answer holds.
type Clip struct {
	StartS     float64 `json:"start_s"`
	EndS       float64 `json:"end_s"`
	Confidence float64 `json:"confidence"`
}

// Result is the answer of an analysis (docs/contract.md#result).
type Result struct {
	Answer     string  `json:"answer"`
	Confidence float64 `json:"confidence"`
	Clips      []Clip  `json:"clips"`
	// CountEvidence lists when DetectedCount objects are visible at the same time.
	CountEvidence       []Clip   `json:"count_evidence"`
	VideoDurationS      *float64 `json:"video_duration_s"`
	DetectedCount       *int     `json:"detected_count"`
	IndeterminateReason *string  `json:"indeterminate_reason"`
	// Undecided names the part of the question that could not be told; "" for other results.
	Undecided         string `json:"undecided"`
	UnsupportedAction *struct {
		Reason  string `json:"reason"`
		DocsURL string `json:"docs_url"`
	} `json:"unsupported_action"`
}

// Terminal reports whether the analysis has ended.
func (a Analysis) Terminal() bool {
	return a.Status == "completed" || a.Status == "failed" || a.Status == "canceled"
}

// Narrating reports whether the narrative is still being written.
func (a Analysis) Narrating() bool {
	return a.Narrative != nil && a.Narrative.Status == "generating"
}
