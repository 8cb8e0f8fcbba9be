package analysis

import (
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
)

// Command is a request to change an analysis.
type Command interface{ isCommand() }

// Create starts an analysis of a video.
type Create struct {
	ID        string
	AccountID string
	VideoID   string
	Livemode  bool
	Origin    Origin
	Prompt    *string
	Query     query.Query
	ParseMode ParseMode
	Model     string
	Narrative bool
	Metadata  map[string]string
	// HeldSeconds is the number of reserved seconds. It is 0 when nothing is billed.
	HeldSeconds int64
	// BatchID is the batch of the analysis, or empty. BatchIndex is its index in the batch,
	// from 0.
	BatchID    string
	BatchIndex int
	// RerunOf is the failed analysis that this one repeats for free, or empty.
	RerunOf string
	// Webhook is the extra destination for events of this analysis alone, or nil.
	Webhook *Webhook
}

// Claim takes over the work for one attempt of one worker.
type Claim struct {
	// Attempt is the number of this attempt. It must be higher than all earlier ones.
	Attempt int
	// Worker is the name of the process.
	Worker string
}

// Progress says that an attempt begins a stage. The percent within a stage is not recorded.
type Progress struct {
	Attempt int
	Stage   Status
	// Percent is the progress of the whole analysis at which the stage begins, 0 to 100.
	Percent int
}

// Complete ends the analysis with a result.
type Complete struct {
	// Attempt is 0 for an answer that was known at creation.
	Attempt int
	Result  answer.Result
	// Usage is nil when nothing is billed or metered.
	Usage *Usage
	// Drawing are the objects that are being rendered, or nil when there is nothing to
	// render.
	Drawing *Artifacts
	// Narrative is the narrative of an answer that was known at creation, or empty. Any
	// other narrative is written later if the caller requested it.
	Narrative []NarrativeEntry
}

// Draw ends the rendering of the artifacts of a completed analysis.
type Draw struct {
	// Artifacts are the rendered objects. It is nil when rendering failed.
	Artifacts *Artifacts
}

// Narrate adds the narrative to a completed analysis.
type Narrate struct {
	// Entries are ordered by time. The list may be empty.
	Entries []NarrativeEntry
}

// FailNarration marks the narrative of a completed analysis as failed.
type FailNarration struct{}

// Fail ends the analysis without a result.
type Fail struct {
	// Attempt is 0 when the attempt is not checked, as for a lost job.
	Attempt int
	Error   Failure
	Usage   *Usage
	// IncidentID is the platform incident that is open now, or empty.
	IncidentID string
}

// Cancel ends the analysis at the caller's request.
type Cancel struct{ Usage *Usage }

// Repeat uses the free re-run of a failed analysis (docs/contract.md#rerun).
type Repeat struct {
	// RerunID is the new analysis.
	RerunID string
}

// Webhook is a per-request override of the destination of events
// (docs/contract.md#webhook-override). The API never shows it.
type Webhook struct {
	// URL is an https URL. It was checked against internal hosts when the request arrived.
	URL string `json:"url"`
	// Events are the types to deliver. An empty list means all types.
	Events []string `json:"events,omitempty"`
}

// Failure is the reason why an analysis failed.
type Failure struct {
	Code fault.Code `json:"code"`
	// Message is the explanation for a person.
	Message string `json:"message"`
}

// Artifacts are the stored objects that show the findings (docs/contract.md#artifacts).
type Artifacts struct {
	// VideoKey is the object key of the annotated video.
	VideoKey string `json:"video_key"`
	// SheetKey is the object key of the contact sheet. It is empty when no examined frame lies in
	// an interval that the answer shows.
	SheetKey string `json:"sheet_key,omitempty"`
}

// NarrativeStatus is the status of a narrative (docs/contract.md#narrative).
type NarrativeStatus string

// The statuses of the contract.
const (
	NarrativeGenerating NarrativeStatus = "generating"
	NarrativeReady      NarrativeStatus = "ready"
	NarrativeFailed     NarrativeStatus = "failed"
)

// Narrative is a text that describes the video, beside the answer
// (docs/contract.md#narrative).
type Narrative struct {
	Status NarrativeStatus `json:"status"`
	// Entries are ordered by time. The list is empty unless the narrative is ready.
	Entries []NarrativeEntry `json:"entries,omitempty"`
}

// NarrativeEntry is one sentence of a narrative.
type NarrativeEntry struct {
	// AtS is the time that the sentence describes, in seconds from the start of the video,
	// >= 0.
	AtS  float64 `json:"t_s"`
	Text string  `json:"text"`
}

// Usage is the cost of an analysis (docs/contract.md#usage-of-analysis).
type Usage struct {
	// BilledSeconds is >= 0.
	BilledSeconds int64 `json:"billed_seconds"`
	// BalanceAfter is the posted balance right after settling, or nil.
	BalanceAfter *int64 `json:"balance_after,omitempty"`
	// Frames is the number of examined frames, or nil.
	Frames *int `json:"frames,omitempty"`
}

func (Create) isCommand()   {}
func (Claim) isCommand()    {}
func (Progress) isCommand() {}
func (Complete) isCommand() {}
func (Fail) isCommand()     {}
func (Cancel) isCommand()   {}
func (Repeat) isCommand()   {}
func (Draw) isCommand()     {}
func (Narrate) isCommand()  {}

func (FailNarration) isCommand() {}
