package stream

import (
	"fmt"
	"time"

	"vqa/domain/query"
)

// Status is the position of a stream in its life (docs/contract.md#stream-states).
type Status string

// The statuses of the contract.
const (
	Queued      Status = "queued"
	Ready       Status = "ready"
	Live        Status = "live"
	EndedStatus Status = "ended"
)

// EndReason says why a stream ended (docs/contract.md#end-reasons).
type EndReason string

// The end reasons of the contract.
const (
	Completed           EndReason = "completed"
	Canceled            EndReason = "canceled"
	InsufficientCredits EndReason = "insufficient_credits"
	Failed              EndReason = "error"
	Timeout             EndReason = "timeout"
	ICEFailed           EndReason = "ice_failed"
	MediaTimeout        EndReason = "media_timeout"
)

// ParseMode is the way in which the query was compiled.
type ParseMode string

// The parse modes of the contract.
const (
	ParseLLM       ParseMode = "llm"
	ParseHeuristic ParseMode = "heuristic"
	ParseClient    ParseMode = "client"
)

// RecordingStatus is the state of a recording (docs/contract.md#recording).
type RecordingStatus string

// The states of a recording.
const (
	RecordingActive    RecordingStatus = "recording"
	RecordingAvailable RecordingStatus = "available"
	RecordingFailed    RecordingStatus = "failed"
	RecordingNone      RecordingStatus = "none"
)

// State is one stream. The zero value is a stream that does not exist.
type State struct {
	ID        string `json:"id,omitempty"`
	AccountID string `json:"account_id,omitempty"`
	Livemode  bool   `json:"livemode"`
	Status    Status `json:"status,omitempty"`
	// Prompt, Query and ParseMode are the latest ones. Prompt is nil when the caller sent a query.
	Prompt    *string           `json:"prompt,omitempty"`
	Query     query.Query       `json:"query"`
	ParseMode ParseMode         `json:"parse_mode,omitempty"`
	Model     string            `json:"model,omitempty"`
	Narrative bool              `json:"narrative,omitempty"`
	Recording bool              `json:"recording,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Webhook   *Webhook          `json:"webhook,omitempty"`
	// HeldSeconds is the number of reserved seconds, with all slices. It never falls.
	HeldSeconds       int64 `json:"held_seconds"`
	MaxSessionSeconds int64 `json:"max_session_seconds,omitempty"`
	WarnAtSeconds     int64 `json:"warn_at_seconds,omitempty"`
	// Node owns the stream. It is empty before a slot is granted.
	Node string `json:"node,omitempty"`
	// ClockMillis is the live clock at ClockedAt. It never falls.
	ClockMillis int64 `json:"clock_millis"`
	// Running is true while the live clock runs.
	Running   bool       `json:"running,omitempty"`
	ClockedAt *time.Time `json:"clocked_at,omitempty"`
	// ResultFrames is the number of results at the latest heartbeat.
	ResultFrames int64 `json:"result_frames"`
	// Recorded is the sum of the stored parts. Its Number is that of the latest part, and its Key is
	// empty.
	Recorded Part `json:"recorded"`
	// RecordingFailure says why the recording failed, if it is known.
	RecordingFailure *RecordingFailure `json:"recording_failure,omitempty"`

	Reason          EndReason       `json:"reason,omitempty"`
	Detail          string          `json:"detail,omitempty"`
	Usage           *Usage          `json:"usage,omitempty"`
	Summary         *Summary        `json:"summary,omitempty"`
	Diagnostic      *Diagnostic     `json:"diagnostic,omitempty"`
	RecordingStatus RecordingStatus `json:"recording_status,omitempty"`

	CreatedAt time.Time  `json:"created_at"`
	ReadyAt   *time.Time `json:"ready_at,omitempty"`
	// OfferedAt is the time of the first offer to the present owner.
	OfferedAt *time.Time `json:"offered_at,omitempty"`
	LiveAt    *time.Time `json:"live_at,omitempty"`
	// FirstFrameAt is when the clock first ran.
	FirstFrameAt *time.Time `json:"first_frame_at,omitempty"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
}

// Exists reports whether the stream was created.
func (s State) Exists() bool { return s.Status != "" }

// DurationSeconds is the live clock in whole seconds. A second that has started counts.
func (s State) DurationSeconds() int64 { return wholeSeconds(s.ClockMillis) }

// wholeSeconds rounds up.
func wholeSeconds(millis int64) int64 { return (millis + 999) / 1000 }

// Windows are the times that a stream waits for its client. All are > 0.
type Windows struct {
	// Join is the time from ready to the first offer.
	Join time.Duration
	// ICE is the time from the offer to live.
	ICE time.Duration
	// FirstFrame is the time from live to the first complete frame.
	FirstFrame time.Duration
}

// Deadline returns when the stream ends, and why, if nothing else is recorded before. ok is false when
// it has no deadline: it is queued or has ended.
func (s State) Deadline(w Windows) (at time.Time, reason EndReason, ok bool) {
	switch {
	case s.Status == Ready && s.OfferedAt == nil:
		return s.ReadyAt.Add(w.Join), Canceled, true
	case s.Status == Ready:
		return s.OfferedAt.Add(w.ICE), ICEFailed, true
	case s.Status != Live:
		return time.Time{}, "", false
	}
	at, reason = s.LiveAt.Add(time.Duration(s.MaxSessionSeconds)*time.Second), Timeout
	earlier := func(t time.Time, r EndReason) {
		if t.Before(at) {
			at, reason = t, r
		}
	}
	if s.FirstFrameAt == nil {
		earlier(s.LiveAt.Add(w.FirstFrame), MediaTimeout)
	}
	if s.Running && s.Livemode {
		left := s.HeldSeconds*1000 - s.ClockMillis
		earlier(s.ClockedAt.Add(time.Duration(left)*time.Millisecond), InsufficientCredits)
	}
	return at, reason, true
}

// Billable returns the seconds to bill for a stream that ends now with this command: the live clock in
// whole seconds, at most MaxSessionSeconds. Test mode, a stream that was never live, and a media_timeout
// cost nothing.
func (s State) Billable(c End, now time.Time) int64 {
	if !s.Livemode || s.Status != Live || c.Reason == MediaTimeout {
		return 0
	}
	return wholeSeconds(s.finalClock(c, now))
}

// finalClock is the live clock at the end. Only the owner knows more than the last heartbeat.
func (s State) finalClock(c End, now time.Time) int64 {
	if c.Node == "" {
		return s.ClockMillis
	}
	return s.clock(c.ClockMillis, now)
}

// clock bounds what a node measured. The clock never falls, and stands unless it runs. It never exceeds the
// time since the stream went live, nor the longest session.
func (s State) clock(millis int64, now time.Time) int64 {
	if !s.Running {
		return s.ClockMillis
	}
	most := min(now.Sub(*s.LiveAt).Milliseconds(), s.MaxSessionSeconds*1000)
	return max(s.ClockMillis, min(millis, most))
}

// Evolve folds one event into the state. It panics on an unknown event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Created:
		s = State{
			ID: e.StreamID, AccountID: e.AccountID, Livemode: e.Livemode, Status: Queued, Prompt: e.Prompt, Query: e.Query,
			ParseMode: e.ParseMode, Model: e.Model, Narrative: e.Narrative, Recording: e.Recording, Metadata: e.Metadata,
			Webhook: e.Webhook, HeldSeconds: e.HeldSeconds, MaxSessionSeconds: e.MaxSessionSeconds,
			WarnAtSeconds: e.WarnAtSeconds, CreatedAt: e.At,
		}
		if e.Recording {
			s.RecordingStatus = RecordingNone
		}
	case SlotGranted:
		s.Status, s.Node, s.ReadyAt, s.OfferedAt = Ready, e.Node, &e.At, nil
	case Offered:
		if s.OfferedAt == nil {
			s.OfferedAt = &e.At
		}
	case WentLive:
		s.Status, s.LiveAt = Live, &e.At
		if s.Recording && s.RecordingStatus != RecordingFailed {
			s.RecordingStatus = RecordingActive
		}
	case Resumed:
		s.Running, s.ClockMillis, s.ClockedAt = true, e.ClockMillis, &e.At
		if s.FirstFrameAt == nil {
			s.FirstFrameAt = &e.At
		}
	case Paused:
		s.Running, s.ClockMillis, s.ClockedAt = false, e.ClockMillis, &e.At
	case Metered:
		s.ClockMillis, s.HeldSeconds, s.ResultFrames, s.ClockedAt = e.ClockMillis, e.HeldSeconds, e.ResultFrames, &e.At
	case PromptUpdated:
		s.Prompt, s.Query, s.ParseMode = &e.Prompt, e.Query, e.ParseMode
	case PartRecorded:
		s.Recorded = s.Recorded.plus(e.Part)
	case RecordingBroke:
		s.RecordingStatus, s.RecordingFailure = RecordingFailed, &e.Failure
	case RecordingDeleted:
		s.RecordingStatus, s.RecordingFailure, s.Recorded = RecordingNone, nil, Part{}
	case Ended:
		s.Status, s.Running, s.Reason, s.Detail, s.ClockMillis = EndedStatus, false, e.Reason, e.Detail, e.ClockMillis
		s.Usage, s.Summary, s.Diagnostic, s.RecordingStatus = &e.Usage, &e.Summary, e.Diagnostic, e.Recording
		s.ResultFrames, s.EndedAt = e.Summary.ResultFrames, &e.At
	default:
		panic(fmt.Sprintf("stream: unknown event %T", event))
	}
	return s
}

// plus adds the next part to a sum.
func (p Part) plus(next Part) Part {
	return Part{
		Number: next.Number, SizeBytes: p.SizeBytes + next.SizeBytes, Frames: p.Frames + next.Frames,
		DurationMillis: p.DurationMillis + next.DurationMillis,
	}
}
