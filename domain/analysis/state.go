package analysis

import (
	"fmt"
	"time"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// Status is the position of an analysis in its life. The non-terminal statuses are also the
// stages of its progress.
type Status string

// The statuses of the contract.
const (
	Queued          Status = "queued"
	Preparing       Status = "preparing"
	Analyzing       Status = "analyzing"
	Rendering       Status = "rendering"
	CompletedStatus Status = "completed"
	FailedStatus    Status = "failed"
	CanceledStatus  Status = "canceled"
)

// Terminal reports whether the status never changes again.
func (s Status) Terminal() bool {
	return s == CompletedStatus || s == FailedStatus || s == CanceledStatus
}

// running reports whether a worker has the analysis.
func (s Status) running() bool { return s == Preparing || s == Analyzing || s == Rendering }

// stageOrder is the order of the stages. Progress never goes back.
var stageOrder = map[Status]int{Queued: 0, Preparing: 1, Analyzing: 2, Rendering: 3}

// Origin is the part of the service that created an analysis.
type Origin string

// The origins of the contract.
const (
	OriginAPI     Origin = "api"
	OriginConsole Origin = "console"
	OriginSystem  Origin = "system"
)

// ParseMode is the way in which the query was compiled.
type ParseMode string

// The parse modes of the contract.
const (
	ParseLLM       ParseMode = "llm"
	ParseHeuristic ParseMode = "heuristic"
	ParseClient    ParseMode = "client"
)

// State is one analysis. The zero value is an analysis that does not exist.
type State struct {
	ID          string            `json:"id,omitempty"`
	AccountID   string            `json:"account_id,omitempty"`
	VideoID     string            `json:"video_id,omitempty"`
	Livemode    bool              `json:"livemode"`
	Origin      Origin            `json:"origin,omitempty"`
	Status      Status            `json:"status,omitempty"`
	Prompt      *string           `json:"prompt,omitempty"`
	Query       query.Query       `json:"query"`
	ParseMode   ParseMode         `json:"parse_mode,omitempty"`
	Model       string            `json:"model,omitempty"`
	Narrative   bool              `json:"narrative,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	HeldSeconds int64             `json:"held_seconds"`
	// BatchID is the batch of the analysis, or empty. BatchIndex is its index in the batch,
	// from 0.
	BatchID    string `json:"batch_id,omitempty"`
	BatchIndex int    `json:"batch_index,omitempty"`
	// RerunOf is the failed analysis that this one repeats for free, or empty.
	RerunOf string   `json:"rerun_of,omitempty"`
	Webhook *Webhook `json:"webhook,omitempty"`
	// Percent is the share of the work that was done when the stage began, 0 to 100. It never
	// falls. The progress within a stage is not an event.
	Percent int `json:"percent"`
	// Attempt is the number of the latest attempt, 0 before the first.
	Attempt int            `json:"attempt"`
	Worker  string         `json:"worker,omitempty"`
	Result  *answer.Result `json:"result,omitempty"`
	Error   *Failure       `json:"error,omitempty"`
	Usage   *Usage         `json:"usage,omitempty"`
	// Artifacts show the findings, or nil.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	// Drawing is true while the artifacts of a completed analysis are being rendered.
	Drawing bool `json:"drawing,omitempty"`
	// Narration is the narrative of a completed analysis. It is nil when the caller
	// requested none.
	Narration *Narrative `json:"narration,omitempty"`
	// IncidentID is the platform incident that caused the failure, or empty.
	IncidentID string `json:"incident_id,omitempty"`
	// RerunID is the analysis that repeats this one, or empty.
	RerunID     string     `json:"rerun_id,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
}

// RerunEligible reports whether an analysis failed in a platform incident. It stays true
// after the free re-run was used (docs/contract.md#incident).
func (s State) RerunEligible() bool { return s.Status == FailedStatus && s.IncidentID != "" }

// Narrating reports whether the narrative of a completed analysis is being written.
func (s State) Narrating() bool {
	return s.Narration != nil && s.Narration.Status == NarrativeGenerating
}

// Exists reports whether the analysis was created.
func (s State) Exists() bool { return s.Status != "" }

// Evolve folds one event into the state. It panics on an unknown event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Created:
		s = State{
			ID: e.AnalysisID, AccountID: e.AccountID, VideoID: e.VideoID, Livemode: e.Livemode, Origin: e.Origin,
			Status: Queued, Prompt: e.Prompt, Query: e.Query, ParseMode: e.ParseMode, Model: e.Model,
			Narrative: e.Narrative, Metadata: e.Metadata, HeldSeconds: e.HeldSeconds, BatchID: e.BatchID,
			BatchIndex: e.BatchIndex,
			RerunOf:    e.RerunOf, Webhook: e.Webhook, CreatedAt: e.At,
		}
	case Started:
		s.Status, s.Attempt, s.Worker, s.StartedAt = Preparing, e.Attempt, e.Worker, &e.At
	case Reclaimed:
		s.Attempt, s.Worker = e.Attempt, e.Worker
	case Progressed:
		s.Status, s.Percent = e.Stage, e.Percent
	case Completed:
		s.Status, s.Percent, s.Result, s.Usage, s.CompletedAt = CompletedStatus, 100, &e.Result, e.Usage, &e.At
		s.Artifacts, s.Drawing, s.Narration = e.Artifacts, e.Drawing, narration(s.Narrative, e)
	case Failed:
		s.Status, s.Error, s.Usage, s.CompletedAt = FailedStatus, &e.Error, e.Usage, &e.At
		s.IncidentID = e.IncidentID
	case Canceled:
		s.Status, s.Usage, s.CompletedAt = CanceledStatus, e.Usage, &e.At
	case Repeated:
		s.RerunID = e.RerunID
	case Drawn:
		s.Artifacts, s.Drawing = e.Artifacts, false
	case Narrated:
		s.Narration = &Narrative{Status: NarrativeReady, Entries: e.Entries}
	case NarrationFailed:
		s.Narration = &Narrative{Status: NarrativeFailed}
	default:
		panic(fmt.Sprintf("analysis: unknown event %T", event))
	}
	return s
}

// narration returns the narrative of an analysis that completes. It is ready when it came
// with the answer, and generating when it is being written. It failed when no sample was
// examined. It is nil when the caller requested none.
func narration(asked bool, e Completed) *Narrative {
	switch {
	case !asked:
		return nil
	case e.Narrating:
		return &Narrative{Status: NarrativeGenerating}
	case len(e.Narrative) > 0:
		return &Narrative{Status: NarrativeReady, Entries: e.Narrative}
	default:
		return &Narrative{Status: NarrativeFailed}
	}
}
