package stream

import (
	"time"

	"vqa/domain/fault"
)

// RecordingBroke says that the recording of a stream failed, while the stream goes on. Its recording stays
// failed.
type RecordingBroke struct {
	StreamID string `json:"stream_id"`
	// Failure says why.
	Failure RecordingFailure `json:"failure"`
	At      time.Time        `json:"at"`
}

// RecordingDeleted says that the recording of an ended stream was deleted. Its objects are removed after it.
type RecordingDeleted struct {
	StreamID string    `json:"stream_id"`
	At       time.Time `json:"at"`
}

// RecordingFailure says why a recording failed (docs/contract.md#recording).
type RecordingFailure struct {
	// Code is a code of the registry of errors.
	Code string `json:"code"`
	// Message is a sentence for the client.
	Message string `json:"message"`
}

// EventType returns the stored name.
func (RecordingBroke) EventType() string { return "stream.recording_failed" }

// EventType returns the stored name.
func (RecordingDeleted) EventType() string { return "stream.recording_deleted" }

func (RecordingBroke) isEvent()   {}
func (RecordingDeleted) isEvent() {}

// decideFailRecording records the first failure of a recording.
func decideFailRecording(s State, c FailRecording, now time.Time) []Event {
	if !s.Recording || s.RecordingStatus == RecordingFailed {
		return nil
	}
	return []Event{RecordingBroke{StreamID: s.ID, Failure: c.Failure, At: now}}
}

// decideDeleteRecording deletes a recording once. Without a recording there is nothing to delete.
func decideDeleteRecording(s State, now time.Time) ([]Event, error) {
	switch {
	case !s.Recording:
		return nil, fault.New(fault.ResourceNotFound, "The stream was created without `recording`.").WithParam("id")
	case s.Status != EndedStatus:
		return nil, refuse("The stream is active. End it before you delete its recording.")
	case s.RecordingStatus == RecordingNone:
		return nil, nil
	}
	return []Event{RecordingDeleted{StreamID: s.ID, At: now}}, nil
}

// recorded is the final state of the recording. Parts that were stored before a crash are available.
func (s State) recorded(failed bool) RecordingStatus {
	switch {
	case failed, s.RecordingStatus == RecordingFailed:
		return RecordingFailed
	case s.Recorded.Number == 0:
		return RecordingNone
	}
	return RecordingAvailable
}
