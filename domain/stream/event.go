package stream

import (
	"time"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// Event is a fact about a stream.
type Event interface {
	EventType() string
	isEvent()
}

// Created says that a stream was created. It waits for a slot.
type Created struct {
	StreamID  string `json:"stream_id"`
	AccountID string `json:"account_id"`
	// Livemode is false for a stream created with a test key.
	Livemode bool `json:"livemode"`
	// Prompt is the prompt as the caller sent it. It is absent when the caller sent a query
	// instead.
	Prompt    *string     `json:"prompt,omitempty"`
	Query     query.Query `json:"query"`
	ParseMode ParseMode   `json:"parse_mode"`
	// Model is the id of the model that answers.
	Model string `json:"model"`
	// Narrative is true when the caller requested narrative updates.
	Narrative bool `json:"narrative,omitempty"`
	// Recording is true when the caller requested a recording.
	Recording bool `json:"recording,omitempty"`
	// Metadata is the caller's own data.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Webhook is the extra destination for events of this stream alone.
	Webhook *Webhook `json:"webhook,omitempty"`
	// HeldSeconds is the number of reserved seconds. It is 0 in test mode.
	HeldSeconds int64 `json:"held_seconds"`
	// MaxSessionSeconds is the longest time from going live to the end, >= 1.
	MaxSessionSeconds int64 `json:"max_session_seconds"`
	// WarnAtSeconds is the remaining time at which the client is warned, >= 1.
	WarnAtSeconds int64     `json:"warn_at_seconds"`
	At            time.Time `json:"at"`
}

// SlotGranted says that a node has a free slot for the stream and owns it from now on. The stream is
// ready. A second such event says that another node took over, before the stream was live.
type SlotGranted struct {
	StreamID string `json:"stream_id"`
	// Node is the name of the process.
	Node string    `json:"node"`
	At   time.Time `json:"at"`
}

// Offered says that the node answered an offer of the client. While the stream is live, this is a
// restart of ICE.
type Offered struct {
	StreamID string `json:"stream_id"`
	// Via is how the offer came, such as "signaling" or "whip".
	Via string    `json:"via,omitempty"`
	At  time.Time `json:"at"`
}

// WentLive says that ICE has succeeded.
type WentLive struct {
	StreamID string `json:"stream_id"`
	// Codec is the video codec that was agreed on, such as "H264".
	Codec string `json:"codec,omitempty"`
	// Path is the way of the packets, such as "udp host" or "udp relay".
	Path string    `json:"path,omitempty"`
	At   time.Time `json:"at"`
}

// Resumed says that complete frames arrive and the question can be assessed, for the first time or again. The live clock
// runs.
type Resumed struct {
	StreamID string `json:"stream_id"`
	// ClockMillis is the live clock at this event.
	ClockMillis int64     `json:"clock_millis"`
	At          time.Time `json:"at"`
}

// Paused says that no complete frame has arrived for some time, or that no model here can assess the question. The live
// clock stands at the last frame.
type Paused struct {
	StreamID string `json:"stream_id"`
	// ClockMillis is the live clock at the last frame.
	ClockMillis int64     `json:"clock_millis"`
	At          time.Time `json:"at"`
}

// Metered says that the live clock has this value. It is the heartbeat of a live stream: when the node
// dies, the stream is billed up to here.
type Metered struct {
	StreamID string `json:"stream_id"`
	// ClockMillis is the live clock. It never falls.
	ClockMillis int64 `json:"clock_millis"`
	// HeldSeconds is the number of reserved seconds. It never falls.
	HeldSeconds int64 `json:"held_seconds"`
	// ResultFrames is the number of results that were sent. It never falls.
	ResultFrames int64     `json:"result_frames"`
	At           time.Time `json:"at"`
}

// PromptUpdated says that the client replaced the question.
type PromptUpdated struct {
	StreamID  string      `json:"stream_id"`
	Prompt    string      `json:"prompt"`
	Query     query.Query `json:"query"`
	ParseMode ParseMode   `json:"parse_mode"`
	At        time.Time   `json:"at"`
}

// PartRecorded says that the next part of the recording is stored.
type PartRecorded struct {
	StreamID string    `json:"stream_id"`
	Part     Part      `json:"part"`
	At       time.Time `json:"at"`
}

// Ended says that the stream is over. Nothing changes after it.
type Ended struct {
	StreamID string    `json:"stream_id"`
	Reason   EndReason `json:"reason"`
	// Detail says in a sentence what happened. It is absent when the client ended the stream.
	Detail string `json:"detail,omitempty"`
	// ClockMillis is the live clock at the end.
	ClockMillis int64   `json:"clock_millis"`
	Usage       Usage   `json:"usage"`
	Summary     Summary `json:"summary"`
	// Diagnostic says why the client did not connect.
	Diagnostic *Diagnostic `json:"diagnostic,omitempty"`
	// Recording is the state of the recording. It is absent when none was requested.
	Recording RecordingStatus `json:"recording,omitempty"`
	At        time.Time       `json:"at"`
}

// Part is one stored part of a recording. The parts together are the recording.
type Part struct {
	// Number counts the parts from 1.
	Number int `json:"number"`
	// Key is the object key.
	Key       string `json:"key"`
	SizeBytes int64  `json:"size_bytes"`
	Frames    int64  `json:"frames"`
	// DurationMillis is the time by which the part makes the recording longer. A pause of the stream
	// counts in the part before it or after it.
	DurationMillis int64 `json:"duration_millis"`
}

// Usage is the cost of a stream (docs/contract.md#stream).
type Usage struct {
	// BilledSeconds is >= 0.
	BilledSeconds int64 `json:"billed_seconds"`
	// BalanceAfter is the posted balance right after settling, or nil.
	BalanceAfter *int64 `json:"balance_after,omitempty"`
}

// Summary is what the results of a stream came to (docs/contract.md#stream).
type Summary struct {
	// ResultFrames is the number of results that were sent.
	ResultFrames int64 `json:"result_frames"`
	// LastDetections are the latest results, the oldest first, at most MaxLastDetections. The list is
	// absent when it is empty.
	LastDetections []Result `json:"last_detections,omitempty"`
}

// Result is one result that was sent to the client (docs/contract.md#signaling).
type Result struct {
	// AtS is the time of the frame on the live clock, in seconds, >= 0.
	AtS    float64       `json:"t_s"`
	Answer answer.Answer `json:"answer"`
	// Confidence is 0 to 1.
	Confidence float64 `json:"confidence"`
	// DetectedCount is set for count questions, else nil.
	DetectedCount *int `json:"detected_count,omitempty"`
	// IndeterminateReason and UnsupportedAction are those of answer.Result.
	IndeterminateReason *query.Reason             `json:"indeterminate_reason,omitempty"`
	UnsupportedAction   *answer.UnsupportedAction `json:"unsupported_action,omitempty"`
	// Detections has at most MaxDetections items.
	Detections []Detection `json:"detections,omitempty"`
	// NarrativeUpdate is the sentence that came with the result, or nil.
	NarrativeUpdate *NarrativeUpdate `json:"narrative_update,omitempty"`
}

// Detection is one object in a frame.
type Detection struct {
	Term string `json:"term"`
	// Confidence is 0 to 1.
	Confidence float64 `json:"confidence"`
	// Box is x, y, width and height, as parts of the frame from 0 to 1.
	Box [4]float64 `json:"box"`
}

// NarrativeUpdate is a new sentence of the narrative.
type NarrativeUpdate struct {
	// AtS is the time that the sentence describes, in seconds of the live clock, >= 0.
	AtS  float64 `json:"t_s"`
	Text string  `json:"text"`
}

// Diagnostic says why a client did not connect (docs/contract.md#stream).
type Diagnostic struct {
	// LocalCandidates are the addresses that the service offered.
	LocalCandidates []string `json:"local_candidates,omitempty"`
	// Hint names the likely cause in a sentence.
	Hint string `json:"hint"`
}

// EventType returns the stored name.
func (Created) EventType() string { return "stream.created" }

// EventType returns the stored name.
func (SlotGranted) EventType() string { return "stream.slot_granted" }

// EventType returns the stored name.
func (Offered) EventType() string { return "stream.offered" }

// EventType returns the stored name.
func (WentLive) EventType() string { return "stream.live" }

// EventType returns the stored name.
func (Resumed) EventType() string { return "stream.resumed" }

// EventType returns the stored name.
func (Paused) EventType() string { return "stream.paused" }

// EventType returns the stored name.
func (Metered) EventType() string { return "stream.metered" }

// EventType returns the stored name.
func (PromptUpdated) EventType() string { return "stream.prompt_updated" }

// EventType returns the stored name.
func (PartRecorded) EventType() string { return "stream.part_recorded" }

// EventType returns the stored name.
func (Ended) EventType() string { return "stream.ended" }

func (Created) isEvent()       {}
func (SlotGranted) isEvent()   {}
func (Offered) isEvent()       {}
func (WentLive) isEvent()      {}
func (Resumed) isEvent()       {}
func (Paused) isEvent()        {}
func (Metered) isEvent()       {}
func (PromptUpdated) isEvent() {}
func (PartRecorded) isEvent()  {}
func (Ended) isEvent()         {}
