package stream

import "time"

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
