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
	AnalysisID  string            `json:"analysis_id"`
	AccountID   string            `json:"account_id"`
	VideoID     string            `json:"video_id"`
	Livemode    bool              `json:"livemode"`
	Origin      Origin            `json:"origin"`
	Prompt      *string           `json:"prompt,omitempty"`
	Query       query.Query       `json:"query"`
	ParseMode   ParseMode         `json:"parse_mode"`
	Model       string            `json:"model"`
	Narrative   bool              `json:"narrative,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	HeldSeconds int64             `json:"held_seconds"`
	At          time.Time         `json:"at"`
}

// Started says that the first attempt has taken the work.
type Started struct {
	AnalysisID string    `json:"analysis_id"`
	Attempt    int       `json:"attempt"`
	Worker     string    `json:"worker"`
	At         time.Time `json:"at"`
}

// Reclaimed says that a later attempt has taken over work whose worker was lost.
type Reclaimed struct {
	AnalysisID string    `json:"analysis_id"`
	Attempt    int       `json:"attempt"`
	Worker     string    `json:"worker"`
	At         time.Time `json:"at"`
}

// Progressed says how far the work has come.
type Progressed struct {
	AnalysisID string    `json:"analysis_id"`
	Stage      Status    `json:"stage"`
	Percent    int       `json:"percent"`
	At         time.Time `json:"at"`
}

// Completed says what the answer is.
type Completed struct {
	AnalysisID string        `json:"analysis_id"`
	Attempt    int           `json:"attempt"`
	Result     answer.Result `json:"result"`
	Usage      *Usage        `json:"usage,omitempty"`
	At         time.Time     `json:"at"`
}

// Failed says that there will be no answer.
type Failed struct {
	AnalysisID string    `json:"analysis_id"`
	Error      Failure   `json:"error"`
	Usage      *Usage    `json:"usage,omitempty"`
	At         time.Time `json:"at"`
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

func (Created) isEvent()    {}
func (Started) isEvent()    {}
func (Reclaimed) isEvent()  {}
func (Progressed) isEvent() {}
func (Completed) isEvent()  {}
func (Failed) isEvent()     {}
func (Canceled) isEvent()   {}
