package analysis

import (
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
)

// Command is a request to change an analysis.
type Command interface{ isCommand() }

// Create asks a question about a video.
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
	// HeldSeconds were reserved for it; 0 when nothing is billed.
	HeldSeconds int64
	// BatchID is the batch that it was created in, or empty; BatchIndex is its place
	// there, from 0.
	BatchID    string
	BatchIndex int
	// RerunOf is the failed analysis that this one repeats for free, or empty.
	RerunOf string
	// Webhook is where this analysis alone is to be told about, or nil.
	Webhook *Webhook
}

// Claim takes the work for one attempt of one worker.
type Claim struct {
	// Attempt is the number of this run, higher than that of any before it.
	Attempt int
	// Worker names the process.
	Worker string
}

// Progress reports how far an attempt has come.
type Progress struct {
	Attempt int
	Stage   Status
	// Percent of the whole analysis, 0 to 100.
	Percent int
}

// Complete ends the analysis with a result.
type Complete struct {
	// Attempt is 0 for an answer that was known at creation.
	Attempt int
	Result  answer.Result
	// Usage is nil when nothing is accounted.
	Usage *Usage
	// Drawing are the objects that will be drawn now, or nil when there is nothing to show.
	Drawing *Artifacts
	// Narrative is the text of an answer that was known at creation, or empty. That of any
	// other is written now, if it was asked for.
	Narrative []NarrativeEntry
}

// Draw ends the drawing of a completed analysis.
type Draw struct {
	// Artifacts were drawn; nil when drawing failed.
	Artifacts *Artifacts
}

// Narrate gives a completed analysis its narrative.
type Narrate struct {
	// Entries are ordered by time; none when there is nothing to tell.
	Entries []NarrativeEntry
}

// FailNarration gives the narrative of a completed analysis up.
type FailNarration struct{}

// Fail ends the analysis without a result.
type Fail struct {
	// Attempt is 0 when no attempt is to be checked, as for a lost job.
	Attempt int
	Error   Failure
	Usage   *Usage
	// IncidentID is the platform incident that is open now, or empty.
	IncidentID string
}

// Cancel ends the analysis at the caller's wish.
type Cancel struct{ Usage *Usage }

// Repeat uses up the free re-run of a failed analysis (api-v1.md, "Analyses": one per
// failed analysis).
type Repeat struct {
	// RerunID is the analysis that repeats it.
	RerunID string
}

// Webhook is a per-request override of where events are delivered (open-points.md,
// "Fields and envelopes"). It is never shown again.
type Webhook struct {
	// URL was https and no internal target when it was given.
	URL string `json:"url"`
	// Events are those to deliver; empty is all of them.
	Events []string `json:"events,omitempty"`
}

// Failure is why an analysis failed.
type Failure struct {
	Code fault.Code `json:"code"`
	// Message is for people.
	Message string `json:"message"`
}

// Artifacts are the stored objects that show what was found (api-v1.md, "Artifacts").
type Artifacts struct {
	// VideoKey is where the annotated video lies.
	VideoKey string `json:"video_key"`
	// SheetKey is where the contact sheet lies, or empty when there are no clips.
	SheetKey string `json:"sheet_key,omitempty"`
}

// NarrativeStatus is how far the narrative of an analysis is (api-v1.md, "Narrative").
type NarrativeStatus string

// The statuses of the contract.
const (
	NarrativeGenerating NarrativeStatus = "generating"
	NarrativeReady      NarrativeStatus = "ready"
	NarrativeFailed     NarrativeStatus = "failed"
)

// Narrative is a text beside the answer, which tells what happens in the video
// (api-v1.md, "Narrative").
type Narrative struct {
	Status NarrativeStatus `json:"status"`
	// Entries are ordered by time; none unless it is ready.
	Entries []NarrativeEntry `json:"entries,omitempty"`
}

// NarrativeEntry is one sentence of a narrative.
type NarrativeEntry struct {
	// AtS is the time that it speaks of, in seconds from the start of the video, >= 0.
	AtS  float64 `json:"t_s"`
	Text string  `json:"text"`
}

// Usage is what an analysis cost (api-v1.md, "Usage").
type Usage struct {
	// BilledSeconds is >= 0.
	BilledSeconds int64 `json:"billed_seconds"`
	// BalanceAfter is the posted balance right after settling, or nil.
	BalanceAfter *int64 `json:"balance_after,omitempty"`
	// Frames were looked at, or nil.
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
