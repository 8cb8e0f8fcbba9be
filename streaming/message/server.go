package message

import (
	"time"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/stream"
)

// Server is a message of the service.
type Server interface {
	Message
	fromServer()
}

// Ready says that the stream has a slot. The client sends an offer.
type Ready struct {
	ICEServers []ICEServer `json:"ice_servers"`
	Limits     Limits      `json:"limits"`
}

// Queued says that the stream waits for a slot.
type Queued struct {
	// Position is >= 1.
	Position int `json:"position"`
	// EstimatedStartS is the estimated wait in seconds, or nil when it is unknown.
	EstimatedStartS *int `json:"estimated_start_s"`
}

// Answer is the SDP answer to an offer.
type Answer struct {
	SDP string `json:"sdp"`
}

// ServerICE is a candidate of the service.
type ServerICE struct {
	// Candidate is nil when all candidates were sent.
	Candidate *Candidate `json:"candidate"`
}

// Live says that ICE has succeeded.
type Live struct {
	LiveStartedAt time.Time `json:"live_started_at"`
}

// Result is the answer after one sampled frame.
type Result struct {
	// Seq is 1 for the first result of a stream and grows by 1.
	Seq int64 `json:"seq"`
	// AtS is the time of the frame on the live clock, in seconds, >= 0.
	AtS    float64       `json:"t_s"`
	Answer answer.Answer `json:"answer"`
	// Confidence is 0 to 1.
	Confidence float64 `json:"confidence"`
	// DetectedCount is set for count questions, else nil.
	DetectedCount *int `json:"detected_count"`
	// IndeterminateReason and UnsupportedAction are those of answer.Result, with an absolute DocsURL. The second one
	// is nil unless no model can answer the question.
	IndeterminateReason *query.Reason             `json:"indeterminate_reason"`
	UnsupportedAction   *answer.UnsupportedAction `json:"unsupported_action,omitempty"`
	// Detections are the objects of the frame.
	Detections []stream.Detection `json:"detections"`
	// NarrativeUpdate is a new sentence, or nil.
	NarrativeUpdate *stream.NarrativeUpdate `json:"narrative_update,omitempty"`
}

// PromptUpdated confirms UpdatePrompt.
type PromptUpdated struct {
	Prompt string      `json:"prompt"`
	Query  query.Query `json:"query"`
}

// Metering is the state of the clock and of the credits.
type Metering struct {
	// ElapsedS is the live clock in whole seconds.
	ElapsedS int64 `json:"elapsed_s"`
	// BilledSeconds are the seconds that a stream that ends now costs.
	BilledSeconds int64 `json:"billed_seconds"`
	// BalanceSeconds are the credits that would remain.
	BalanceSeconds int64 `json:"balance_seconds"`
}

// Warning says how many seconds remain before the service ends the stream.
type Warning struct {
	RemainingS int64 `json:"remaining_s"`
}

// ServerEnd says that the stream has ended. It is the last message.
type ServerEnd struct {
	Reason stream.EndReason `json:"reason"`
}

// Error refuses the latest message of the client, or says why the connection is closed.
type Error struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Pong answers Ping.
type Pong struct{}

// Status says what a stream with the narrative option works on.
type Status struct {
	Status StatusKind `json:"status"`
	// Message is a sentence for people, or empty.
	Message string `json:"message,omitempty"`
}

// StatusKind is the kind of a Status.
type StatusKind string

// The kinds of the contract.
const (
	PromptContext  StatusKind = "prompt_context"
	CombinedPrompt StatusKind = "combined_prompt"
	Recalculating  StatusKind = "recalculating"
)

// ICEServer is a STUN or TURN server (docs/contract.md#ice-servers).
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   *string  `json:"username"`
	Credential *string  `json:"credential"`
}

// Limits are the limits of a session, in seconds >= 1.
type Limits struct {
	MaxSessionS      int64 `json:"max_session_s"`
	WarnAtRemainingS int64 `json:"warn_at_remaining_s"`
}

// Type implements Message.
func (Ready) Type() string { return "ready" }

// Type implements Message.
func (Queued) Type() string { return "queued" }

// Type implements Message.
func (Answer) Type() string { return "answer" }

// Type implements Message.
func (ServerICE) Type() string { return "ice" }

// Type implements Message.
func (Live) Type() string { return "live" }

// Type implements Message.
func (Result) Type() string { return "result" }

// Type implements Message.
func (PromptUpdated) Type() string { return "prompt_updated" }

// Type implements Message.
func (Metering) Type() string { return "metering" }

// Type implements Message.
func (Warning) Type() string { return "warning" }

// Type implements Message.
func (ServerEnd) Type() string { return "end" }

// Type implements Message.
func (Error) Type() string { return "error" }

// Type implements Message.
func (Pong) Type() string { return "pong" }

// Type implements Message.
func (Status) Type() string { return "status" }

func (Ready) fromServer()         {}
func (Queued) fromServer()        {}
func (Answer) fromServer()        {}
func (ServerICE) fromServer()     {}
func (Live) fromServer()          {}
func (Result) fromServer()        {}
func (PromptUpdated) fromServer() {}
func (Metering) fromServer()      {}
func (Warning) fromServer()       {}
func (ServerEnd) fromServer()     {}
func (Error) fromServer()         {}
func (Pong) fromServer()          {}
func (Status) fromServer()        {}

// ErrorOf returns the message for an error. Only a fault shows its text.
func ErrorOf(err error) Error {
	f := fault.Of(err)
	if f == nil {
		f = fault.New(fault.InternalError, "")
	}
	return Error{Code: f.Code, Message: f.Message}
}
