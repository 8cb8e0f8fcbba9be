package analysis

import (
	"time"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// Event is a fact about an analysis.
type Event interface {
	EventType() string
	isEvent()
}

// Created says that a question was asked.
type Created struct {
	AnalysisID string `json:"analysis_id"`
	AccountID  string `json:"account_id"`
	VideoID    string `json:"video_id"`
	// Livemode is false for what a test key made.
	Livemode bool   `json:"livemode"`
	Origin   Origin `json:"origin"`
	// Prompt is the question as it was asked; absent when a query came instead.
	Prompt    *string     `json:"prompt,omitempty"`
	Query     query.Query `json:"query"`
	ParseMode ParseMode   `json:"parse_mode"`
	// Model is the id of the model that answers.
	Model string `json:"model"`
	// Narrative is true when a text beside the answer was asked for.
	Narrative bool `json:"narrative,omitempty"`
	// Metadata is the caller's own.
	Metadata map[string]string `json:"metadata,omitempty"`
	// HeldSeconds were reserved for it; 0 when nothing is billed.
	HeldSeconds int64 `json:"held_seconds"`
	// BatchID is the batch that it was created in; BatchIndex is its place there, from 0.
	BatchID    string `json:"batch_id,omitempty"`
	BatchIndex int    `json:"batch_index,omitempty"`
	// RerunOf is the failed analysis that this one repeats for free.
	RerunOf string `json:"rerun_of,omitempty"`
	// Webhook is where this analysis alone is to be told about.
	Webhook *Webhook  `json:"webhook,omitempty"`
	At      time.Time `json:"at"`
}

// Started says that the first attempt has taken the work.
type Started struct {
	AnalysisID string `json:"analysis_id"`
	// Attempt is the number of this run, from 1.
	Attempt int `json:"attempt"`
	// Worker names the process.
	Worker string    `json:"worker"`
	At     time.Time `json:"at"`
}

// Reclaimed says that a later attempt has taken over work whose worker was lost.
type Reclaimed struct {
	AnalysisID string `json:"analysis_id"`
	// Attempt is the number of this run, higher than that of any before it.
	Attempt int `json:"attempt"`
	// Worker names the process.
	Worker string    `json:"worker"`
	At     time.Time `json:"at"`
}

// Progressed says how far the work has come.
type Progressed struct {
	AnalysisID string `json:"analysis_id"`
	Stage      Status `json:"stage"`
	// Percent is of the whole analysis, 0 to 100; it never falls.
	Percent int       `json:"percent"`
	At      time.Time `json:"at"`
}

// Completed says what the answer is.
type Completed struct {
	AnalysisID string `json:"analysis_id"`
	// Attempt is the run that found the answer; 0 when none was needed.
	Attempt int           `json:"attempt"`
	Result  answer.Result `json:"result"`
	Usage   *Usage        `json:"usage,omitempty"`
	// Artifacts show what was found; absent when there is nothing to show.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	// Drawing is true when the artifacts are yet to be drawn: analysis.drawn follows.
	Drawing bool `json:"drawing,omitempty"`
	// Narrating is true when the narrative is yet to be written: analysis.narrated or
	// analysis.narration_failed follows.
	Narrating bool `json:"narrating,omitempty"`
	// Narrative is the text of an answer that was known at creation.
	Narrative []NarrativeEntry `json:"narrative,omitempty"`
	At        time.Time        `json:"at"`
}

// Drawn says that nothing more is drawn of what was found.
type Drawn struct {
	AnalysisID string `json:"analysis_id"`
	// Artifacts show what was found; absent when drawing failed.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	At        time.Time  `json:"at"`
}

// Narrated says what happens in the video.
type Narrated struct {
	AnalysisID string `json:"analysis_id"`
	// Entries are ordered by time; absent when there is nothing to tell.
	Entries []NarrativeEntry `json:"entries,omitempty"`
	At      time.Time        `json:"at"`
}

// NarrationFailed says that there will be no narrative.
type NarrationFailed struct {
	AnalysisID string    `json:"analysis_id"`
	At         time.Time `json:"at"`
}

// Failed says that there will be no answer.
type Failed struct {
	AnalysisID string  `json:"analysis_id"`
	Error      Failure `json:"error"`
	Usage      *Usage  `json:"usage,omitempty"`
	// IncidentID is the platform incident that it failed in, which earns it a free re-run.
	IncidentID string    `json:"incident_id,omitempty"`
	At         time.Time `json:"at"`
}

// Repeated says that the free re-run of a failed analysis was used.
type Repeated struct {
	AnalysisID string `json:"analysis_id"`
	// RerunID is the analysis that repeats it.
	RerunID string    `json:"rerun_id"`
	At      time.Time `json:"at"`
}

// Canceled says that the caller no longer wants an answer.
type Canceled struct {
	AnalysisID string    `json:"analysis_id"`
	Usage      *Usage    `json:"usage,omitempty"`
	At         time.Time `json:"at"`
}

// EventType returns the stored name.
func (Created) EventType() string { return "analysis.created" }

// EventType returns the stored name.
func (Started) EventType() string { return "analysis.started" }

// EventType returns the stored name.
func (Reclaimed) EventType() string { return "analysis.reclaimed" }

// EventType returns the stored name.
func (Progressed) EventType() string { return "analysis.progressed" }

// EventType returns the stored name.
func (Completed) EventType() string { return "analysis.completed" }

// EventType returns the stored name.
func (Failed) EventType() string { return "analysis.failed" }

// EventType returns the stored name.
func (Canceled) EventType() string { return "analysis.canceled" }

// EventType returns the stored name.
func (Repeated) EventType() string { return "analysis.rerun" }

// EventType returns the stored name.
func (Drawn) EventType() string { return "analysis.drawn" }

// EventType returns the stored name.
func (Narrated) EventType() string { return "analysis.narrated" }

// EventType returns the stored name.
func (NarrationFailed) EventType() string { return "analysis.narration_failed" }

func (Created) isEvent()    {}
func (Started) isEvent()    {}
func (Reclaimed) isEvent()  {}
func (Progressed) isEvent() {}
func (Completed) isEvent()  {}
func (Failed) isEvent()     {}
func (Canceled) isEvent()   {}
func (Repeated) isEvent()   {}
func (Drawn) isEvent()      {}
func (Narrated) isEvent()   {}

func (NarrationFailed) isEvent() {}
