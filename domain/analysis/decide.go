package analysis

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// Decide returns the events of a command, or the fault that refuses it: resource_not_found,
// resource_conflict, analysis_not_cancelable or rerun_not_eligible.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	if c, ok := command.(Create); ok {
		return decideCreate(s, c, now)
	}
	if !s.Exists() {
		return nil, fault.New(fault.ResourceNotFound, "")
	}
	if c, ok := command.(Repeat); ok {
		return decideRepeat(s, c, now)
	}
	if events, ok := decideAfterwork(s, command, now); ok {
		return events, nil
	}
	if s.Status.Terminal() {
		return nil, refuseTerminal(s, command)
	}
	switch c := command.(type) {
	case Claim:
		return decideClaim(s, c, now)
	case Progress:
		return decideProgress(s, c, now)
	case Complete:
		if c.Attempt != s.Attempt {
			return nil, staleAttempt(s, c.Attempt)
		}
		return []Event{decideComplete(s, c, now)}, nil
	case Fail:
		if c.Attempt != 0 && c.Attempt != s.Attempt {
			return nil, staleAttempt(s, c.Attempt)
		}
		return []Event{decideFail(s, c, now)}, nil
	case Cancel:
		return []Event{Canceled{AnalysisID: s.ID, Usage: c.Usage, At: now}}, nil
	case Draw, Narrate, FailNarration:
		return nil, fault.Newf(fault.ResourceConflict, "The analysis is %s. The annotated video and the narrative do not exist yet.", s.Status)
	default:
		panic(fmt.Sprintf("analysis: unknown command %T", command))
	}
}

func decideCreate(s State, c Create, now time.Time) ([]Event, error) {
	if s.Exists() {
		return nil, fault.New(fault.ResourceConflict, "The analysis already exists.")
	}
	return []Event{Created{
		AnalysisID: c.ID, AccountID: c.AccountID, VideoID: c.VideoID, Livemode: c.Livemode, Origin: c.Origin,
		Prompt: c.Prompt, Query: c.Query, ParseMode: c.ParseMode, Model: c.Model, Narrative: c.Narrative,
		Metadata: c.Metadata, HeldSeconds: c.HeldSeconds, BatchID: c.BatchID,
		BatchIndex: c.BatchIndex, RerunOf: c.RerunOf, Webhook: c.Webhook, At: now,
	}}, nil
}

// decideComplete marks a requested narrative as pending when a worker has examined the
// video.
func decideComplete(s State, c Complete, now time.Time) Completed {
	return Completed{
		AnalysisID: s.ID, Attempt: c.Attempt, Result: c.Result, Usage: c.Usage, Artifacts: c.Drawing, Drawing: c.Drawing != nil,
		Narrating: s.Narrative && c.Attempt > 0 && len(c.Narrative) == 0, Narrative: c.Narrative, At: now,
	}
}

// decideAfterwork adds the artifacts or the narrative to a completed analysis. ok is false
// for other commands and for a repeated one. The status and the answer do not change.
func decideAfterwork(s State, command Command, now time.Time) (events []Event, ok bool) {
	switch c := command.(type) {
	case Draw:
		return []Event{Drawn{AnalysisID: s.ID, Artifacts: c.Artifacts, At: now}}, s.Drawing
	case Narrate:
		return []Event{Narrated{AnalysisID: s.ID, Entries: c.Entries, At: now}}, s.Narrating()
	case FailNarration:
		return []Event{NarrationFailed{AnalysisID: s.ID, At: now}}, s.Narrating()
	default:
		return nil, false
	}
}

// decideFail attributes a failure inside the service to an open incident. Other failures
// have no incident.
func decideFail(s State, c Fail, now time.Time) Failed {
	e := Failed{AnalysisID: s.ID, Error: c.Error, Usage: c.Usage, At: now}
	if c.Error.Code == fault.InferenceError || c.Error.Code == fault.StuckTimeout {
		e.IncidentID = c.IncidentID
	}
	return e
}

// decideRepeat uses the free re-run of a failed analysis. A re-run that fails in an
// incident earns its own re-run.
func decideRepeat(s State, c Repeat, now time.Time) ([]Event, error) {
	switch {
	case !s.RerunEligible():
		return nil, fault.New(fault.RerunNotEligible, "")
	case s.RerunID != "":
		return nil, fault.Newf(fault.RerunNotEligible, "The free re-run was already used. Its result is analysis %s.", s.RerunID)
	}
	return []Event{Repeated{AnalysisID: s.ID, RerunID: c.RerunID, At: now}}, nil
}

func decideClaim(s State, c Claim, now time.Time) ([]Event, error) {
	if c.Attempt <= s.Attempt {
		return nil, staleAttempt(s, c.Attempt)
	}
	if s.Status == Queued {
		return []Event{Started{AnalysisID: s.ID, Attempt: c.Attempt, Worker: c.Worker, At: now}}, nil
	}
	return []Event{Reclaimed{AnalysisID: s.ID, Attempt: c.Attempt, Worker: c.Worker, At: now}}, nil
}

// decideProgress returns an event when the stage is later than that of the analysis. A later
// attempt repeats the stages of an earlier one, and the caller must not see the progress fall.
func decideProgress(s State, c Progress, now time.Time) ([]Event, error) {
	if c.Attempt != s.Attempt || !s.Status.running() {
		return nil, staleAttempt(s, c.Attempt)
	}
	if stageOrder[c.Stage] <= stageOrder[s.Status] {
		return nil, nil
	}
	return []Event{Progressed{AnalysisID: s.ID, Stage: c.Stage, Percent: min(max(c.Percent, s.Percent), 100), At: now}}, nil
}

func refuseTerminal(s State, command Command) error {
	if _, ok := command.(Cancel); ok {
		return fault.Newf(fault.AnalysisNotCancelable, "The analysis is already %s and cannot be canceled.", s.Status)
	}
	return fault.Newf(fault.ResourceConflict, "The analysis is already %s.", s.Status)
}

func staleAttempt(s State, attempt int) error {
	return fault.Newf(fault.ResourceConflict, "Attempt %d no longer works on the analysis. The latest attempt is %d.", attempt, s.Attempt)
}
