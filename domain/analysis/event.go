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

// Created says that an analysis was created.
type Created struct {
	AnalysisID string `json:"analysis_id"`
	AccountID  string `json:"account_id"`
	VideoID    string `json:"video_id"`
	// Livemode is false for an analysis created with a test key.
	Livemode bool   `json:"livemode"`
	Origin   Origin `json:"origin"`
	// Prompt is the prompt as the caller sent it. It is absent when the caller sent a query
	// instead.
	Prompt    *string     `json:"prompt,omitempty"`
	Query     query.Query `json:"query"`
	ParseMode ParseMode   `json:"parse_mode"`
	// Model is the id of the model that answers.
	Model string `json:"model"`
	// Narrative is true when the caller requested a narrative.
	Narrative bool `json:"narrative,omitempty"`
	// Metadata is the caller's own data.
	Metadata map[string]string `json:"metadata,omitempty"`
	// HeldSeconds is the number of reserved seconds. It is 0 when nothing is billed.
	HeldSeconds int64 `json:"held_seconds"`
	// BatchID is the batch of the analysis. BatchIndex is its index in the batch, from 0.
	BatchID    string `json:"batch_id,omitempty"`
	BatchIndex int    `json:"batch_index,omitempty"`
	// RerunOf is the failed analysis that this one repeats for free.
	RerunOf string `json:"rerun_of,omitempty"`
	// Webhook is the extra destination for events of this analysis alone.
	Webhook *Webhook  `json:"webhook,omitempty"`
	At      time.Time `json:"at"`
}

// Started says that the first attempt has started.
type Started struct {
	AnalysisID string `json:"analysis_id"`
	// Attempt is the number of this attempt, from 1.
	Attempt int `json:"attempt"`
	// Worker is the name of the process.
	Worker string    `json:"worker"`
	At     time.Time `json:"at"`
}

// Reclaimed says that a later attempt took over the work of a lost worker.
type Reclaimed struct {
	AnalysisID string `json:"analysis_id"`
	// Attempt is the number of this attempt. It is higher than all earlier ones.
	Attempt int `json:"attempt"`
	// Worker is the name of the process.
	Worker string    `json:"worker"`
	At     time.Time `json:"at"`
}

// Progressed says that a stage of the work began.
type Progressed struct {
	AnalysisID string `json:"analysis_id"`
	Stage      Status `json:"stage"`
	// Percent is the progress of the whole analysis at this event, 0 to 100. It never falls.
	Percent int       `json:"percent"`
	At      time.Time `json:"at"`
}

// Completed says that the answer is known.
type Completed struct {
	AnalysisID string `json:"analysis_id"`
	// Attempt is the attempt that found the answer. It is 0 when the answer was known at
	// creation.
	Attempt int           `json:"attempt"`
	Result  answer.Result `json:"result"`
	Usage   *Usage        `json:"usage,omitempty"`
	// Artifacts are the stored objects that show the findings. They are absent when there is nothing to show.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	// Drawing is true when the artifacts are still to be rendered. An analysis.drawn event
	// follows.
	Drawing bool `json:"drawing,omitempty"`
	// Narrating is true when the narrative is still to be written. An analysis.narrated or
	// analysis.narration_failed event follows.
	Narrating bool `json:"narrating,omitempty"`
	// Narrative is the narrative of an answer that was known at creation.
	Narrative []NarrativeEntry `json:"narrative,omitempty"`
	At        time.Time        `json:"at"`
}

// Drawn says that the rendering of the artifacts has ended.
type Drawn struct {
	AnalysisID string `json:"analysis_id"`
	// Artifacts are the stored objects that show the findings. They are absent when rendering failed.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	At        time.Time  `json:"at"`
}

// Narrated says that the narrative was written.
type Narrated struct {
	AnalysisID string `json:"analysis_id"`
	// Entries are ordered by time. The list is absent when it is empty.
	Entries []NarrativeEntry `json:"entries,omitempty"`
	At      time.Time        `json:"at"`
}

// NarrationFailed says that the narrative failed.
type NarrationFailed struct {
	AnalysisID string    `json:"analysis_id"`
	At         time.Time `json:"at"`
}

// Failed says that the analysis failed. It has no answer.
type Failed struct {
	AnalysisID string  `json:"analysis_id"`
	Error      Failure `json:"error"`
	Usage      *Usage  `json:"usage,omitempty"`
	// IncidentID is the platform incident that caused the failure. It earns the caller a
	// free re-run.
	IncidentID string    `json:"incident_id,omitempty"`
	At         time.Time `json:"at"`
}

// Repeated says that the free re-run of a failed analysis was used.
type Repeated struct {
	AnalysisID string `json:"analysis_id"`
	// RerunID is the new analysis.
	RerunID string    `json:"rerun_id"`
	At      time.Time `json:"at"`
}

// Canceled says that the caller canceled the analysis.
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
