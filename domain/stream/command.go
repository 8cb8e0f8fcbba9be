package stream

import (
	"vqa/domain/query"
)

// Command is a request to change a stream.
type Command interface{ isCommand() }

// Create starts a stream. The caller has checked that the account has no other active stream.
type Create struct {
	ID        string
	AccountID string
	Livemode  bool
	Prompt    *string
	Query     query.Query
	ParseMode ParseMode
	Model     string
	Narrative bool
	Recording bool
	Metadata  map[string]string
	// Webhook is the extra destination for events of this stream alone, or nil.
	Webhook *Webhook
	// HeldSeconds is the number of reserved seconds. It is 0 in test mode.
	HeldSeconds int64
	// MaxSessionSeconds is the longest time from going live to the end, >= 1.
	MaxSessionSeconds int64
	// WarnAtSeconds is the remaining time at which the client is warned, >= 1.
	WarnAtSeconds int64
}

// GrantSlot makes a node the owner of a stream. The node names the process, never empty. A stream that is
// not live yet can get another owner, when the lease of the first one is over.
type GrantSlot struct{ Node string }

// Offer says that the owner answered an offer of the client.
type Offer struct {
	Node string
	// Via is how the offer came, such as "signaling" or "whip".
	Via string
}

// GoLive says that ICE has succeeded.
type GoLive struct {
	Node string
	// Codec is the video codec that was agreed on, such as "H264".
	Codec string
	// Path is the way of the packets, such as "udp host" or "udp relay".
	Path string
}

// Resume starts the live clock, because complete frames arrive and the question can be assessed.
type Resume struct{ Node string }

// Pause stops the live clock, because complete frames arrive no longer or the question cannot be assessed.
type Pause struct {
	Node string
	// ClockMillis is the live clock at the last frame.
	ClockMillis int64
}

// Meter records a heartbeat.
type Meter struct {
	Node string
	// ClockMillis is the live clock at the latest frame.
	ClockMillis int64
	// HeldSeconds is the number of reserved seconds, with the latest slice.
	HeldSeconds int64
	// ResultFrames is the number of results that were sent.
	ResultFrames int64
}

// UpdatePrompt replaces the question.
type UpdatePrompt struct {
	Prompt    string
	Query     query.Query
	ParseMode ParseMode
}

// RecordPart adds the next part to the recording.
type RecordPart struct {
	Node string
	Part Part
}

// FailRecording says that the recording failed. The stream goes on.
type FailRecording struct {
	Node    string
	Failure RecordingFailure
}

// DeleteRecording deletes the recording of a stream that has ended.
type DeleteRecording struct{}

// End ends the stream.
type End struct {
	// Node is the owner that ends its stream. It is empty when somebody else ends it: the API, or a
	// node that found the owner dead. The stream is then billed up to the last heartbeat.
	Node string
	// Reason is empty when the client ends the stream.
	Reason EndReason
	// Detail says in a sentence what happened. It is empty when the client ended the stream.
	Detail string
	// ClockMillis is the live clock at the latest frame. It counts only with Node.
	ClockMillis int64
	// Usage has at most the seconds that Billable returned.
	Usage Usage
	// Summary counts only with Node.
	Summary Summary
	// Diagnostic says why the client did not connect, or nil.
	Diagnostic *Diagnostic
	// RecordingFailed is true when the capture broke.
	RecordingFailed bool
}

// Webhook is a per-request override of the destination of events
// (docs/contract.md#webhook-override). The API never shows it.
type Webhook struct {
	// URL is an https URL. It was checked against internal hosts when the request arrived.
	URL string `json:"url"`
	// Events are the types to deliver. An empty list means all types.
	Events []string `json:"events,omitempty"`
}

func (Create) isCommand()          {}
func (GrantSlot) isCommand()       {}
func (Offer) isCommand()           {}
func (GoLive) isCommand()          {}
func (Resume) isCommand()          {}
func (Pause) isCommand()           {}
func (Meter) isCommand()           {}
func (UpdatePrompt) isCommand()    {}
func (RecordPart) isCommand()      {}
func (FailRecording) isCommand()   {}
func (DeleteRecording) isCommand() {}
func (End) isCommand()             {}
