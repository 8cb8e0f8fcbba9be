package stream

import (
	"fmt"
	"slices"
	"time"

	"vqa/domain/fault"
)

const (
	// MaxLastDetections is the most results in a summary.
	MaxLastDetections = 10
	// MaxDetections is the most detections of a result in a summary. It bounds the size of an event.
	MaxDetections = 100
)

// Decide returns the events of a command, or the fault that refuses it: resource_not_found or
// resource_conflict.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	if c, ok := command.(Create); ok {
		return decideCreate(s, c, now)
	}
	if !s.Exists() {
		return nil, fault.New(fault.ResourceNotFound, "")
	}
	switch c := command.(type) {
	case End:
		return decideEnd(s, c, now)
	case DeleteRecording:
		return decideDeleteRecording(s, now)
	}
	if s.Status == EndedStatus {
		return nil, refuse("The stream has ended.")
	}
	switch c := command.(type) {
	case UpdatePrompt:
		return decideUpdatePrompt(s, c, now), nil
	case GrantSlot:
		return decideGrantSlot(s, c, now)
	case Offer:
		return s.ready(c.Node, func() ([]Event, error) {
			if s.Status == Ready && s.OfferedAt != nil {
				return nil, nil // the time for ICE counts from the first offer
			}
			return []Event{Offered{StreamID: s.ID, Via: c.Via, At: now}}, nil
		})
	case GoLive:
		return s.ready(c.Node, func() ([]Event, error) {
			if s.Status == Live || s.OfferedAt == nil {
				return nil, refuse("Only a stream with an answered offer can go live.")
			}
			return []Event{WentLive{StreamID: s.ID, Codec: c.Codec, Path: c.Path, At: now}}, nil
		})
	case FailRecording:
		return s.ready(c.Node, func() ([]Event, error) { return decideFailRecording(s, c, now), nil })
	case Resume, Pause, Meter, RecordPart:
		return decideLive(s, command, now)
	default:
		panic(fmt.Sprintf("stream: unknown command %T", command))
	}
}

func decideCreate(s State, c Create, now time.Time) ([]Event, error) {
	if s.Exists() {
		return nil, refuse("The stream already exists.")
	}
	return []Event{Created{
		StreamID: c.ID, AccountID: c.AccountID, Livemode: c.Livemode, Prompt: c.Prompt, Query: c.Query, ParseMode: c.ParseMode,
		Model: c.Model, Narrative: c.Narrative, Recording: c.Recording, Metadata: c.Metadata, Webhook: c.Webhook,
		HeldSeconds: c.HeldSeconds, MaxSessionSeconds: c.MaxSessionSeconds, WarnAtSeconds: c.WarnAtSeconds, At: now,
	}}, nil
}

func decideUpdatePrompt(s State, c UpdatePrompt, now time.Time) []Event {
	if s.Prompt != nil && *s.Prompt == c.Prompt {
		return nil
	}
	return []Event{PromptUpdated{StreamID: s.ID, Prompt: c.Prompt, Query: c.Query, ParseMode: c.ParseMode, At: now}}
}

func decideGrantSlot(s State, c GrantSlot, now time.Time) ([]Event, error) {
	switch {
	case s.Status == Live:
		return nil, refuse("A live stream stays on its node.")
	case s.Node == c.Node:
		return nil, nil
	}
	return []Event{SlotGranted{StreamID: s.ID, Node: c.Node, At: now}}, nil
}

// decideLive decides what the owner reports of a live stream.
func decideLive(s State, command Command, now time.Time) ([]Event, error) {
	switch c := command.(type) {
	case Resume:
		return s.live(c.Node, func() []Event {
			if s.Running {
				return nil
			}
			return []Event{Resumed{StreamID: s.ID, ClockMillis: s.ClockMillis, At: now}}
		})
	case Pause:
		return s.live(c.Node, func() []Event {
			if !s.Running {
				return nil
			}
			return []Event{Paused{StreamID: s.ID, ClockMillis: s.clock(c.ClockMillis, now), At: now}}
		})
	case Meter:
		return s.live(c.Node, func() []Event { return decideMeter(s, c, now) })
	case RecordPart:
		if s.Recording && c.Part.Number > s.Recorded.Number+1 {
			return nil, refuse(fmt.Sprintf("Part %d of the recording is missing.", s.Recorded.Number+1))
		}
		return s.live(c.Node, func() []Event {
			if !s.Recording || s.RecordingStatus == RecordingFailed || c.Part.Number <= s.Recorded.Number {
				return nil
			}
			return []Event{PartRecorded{StreamID: s.ID, Part: c.Part, At: now}}
		})
	default:
		panic(fmt.Sprintf("stream: unknown command %T", command))
	}
}

// decideMeter records a heartbeat that says something new.
func decideMeter(s State, c Meter, now time.Time) []Event {
	e := Metered{
		StreamID: s.ID, ClockMillis: s.clock(c.ClockMillis, now), HeldSeconds: max(c.HeldSeconds, s.HeldSeconds),
		ResultFrames: max(c.ResultFrames, s.ResultFrames), At: now,
	}
	if e.ClockMillis == s.ClockMillis && e.HeldSeconds == s.HeldSeconds && e.ResultFrames == s.ResultFrames {
		return nil
	}
	return []Event{e}
}

// decideEnd ends a stream once. An ended stream stays as it is.
func decideEnd(s State, c End, now time.Time) ([]Event, error) {
	if s.Status == EndedStatus {
		return nil, nil
	}
	if c.Node != "" && c.Node != s.Node {
		return nil, s.notOwner(c.Node)
	}
	if c.Reason == "" {
		c.Reason = Canceled
		if s.Status == Live {
			c.Reason = Completed
		}
	}
	if !s.canEnd(c) {
		return nil, refuse(fmt.Sprintf("A stream that is %s cannot end as %s.", s.Status, c.Reason))
	}
	if most := s.Billable(c, now); c.Usage.BilledSeconds < 0 || c.Usage.BilledSeconds > most {
		return nil, refuse(fmt.Sprintf("The stream is billable for 0 to %d seconds, and not for %d.", most, c.Usage.BilledSeconds))
	}
	e := Ended{
		StreamID: s.ID, Reason: c.Reason, Detail: c.Detail, ClockMillis: s.finalClock(c, now), Usage: c.Usage,
		Summary: s.summary(c), Diagnostic: c.Diagnostic, At: now,
	}
	if s.Recording {
		e.Recording = s.recorded(c.RecordingFailed)
	}
	return []Event{e}, nil
}

// canEnd reports whether the reason fits the state (docs/contract.md#end-reasons).
func (s State) canEnd(c End) bool {
	switch c.Reason {
	case Failed:
		return true
	case Canceled:
		return s.Status != Live
	case ICEFailed:
		return s.Status == Ready && s.OfferedAt != nil
	case MediaTimeout:
		return s.Status == Live && s.summary(c).ResultFrames == 0
	case Completed, Timeout:
		return s.Status == Live
	case InsufficientCredits:
		return s.Status == Live && s.Livemode
	}
	return false
}

// summary is that of the owner, within its bounds. Otherwise it has the count of the last heartbeat.
func (s State) summary(c End) Summary {
	if c.Node == "" || s.Status != Live {
		return Summary{ResultFrames: s.ResultFrames}
	}
	last := slices.Clone(c.Summary.LastDetections)
	last = last[max(0, len(last)-MaxLastDetections):]
	for i := range last {
		last[i].Detections = last[i].Detections[:min(len(last[i].Detections), MaxDetections)]
	}
	return Summary{ResultFrames: max(c.Summary.ResultFrames, s.ResultFrames), LastDetections: last}
}

// ready decides on a stream that has this owner.
func (s State) ready(node string, decide func() ([]Event, error)) ([]Event, error) {
	if s.Status == Queued {
		return nil, refuse("The stream has no slot yet.")
	}
	if s.Node != node {
		return nil, s.notOwner(node)
	}
	return decide()
}

// live decides on a live stream that has this owner.
func (s State) live(node string, decide func() []Event) ([]Event, error) {
	return s.ready(node, func() ([]Event, error) {
		if s.Status != Live {
			return nil, refuse("The stream is not live yet.")
		}
		return decide(), nil
	})
}

func (s State) notOwner(node string) error {
	return refuse(fmt.Sprintf("The stream belongs to node %q, and not to %q.", s.Node, node))
}

func refuse(message string) error { return fault.New(fault.ResourceConflict, message) }
