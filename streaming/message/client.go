package message

import "time"

// Message is a message of the client or of the service.
type Message interface {
	// Type is the value of the member "type".
	Type() string
}

// Client is a message of the client.
type Client interface {
	Message
	fromClient()
}

// Join asks for the state of the stream. It is the first message on a socket.
type Join struct{}

// Offer is an SDP offer: the first one, or a restart of ICE.
type Offer struct {
	SDP string `json:"sdp"`
}

// ClientICE is a candidate of the client.
type ClientICE struct {
	// Candidate is nil when all candidates were sent.
	Candidate *Candidate `json:"candidate"`
	// Errors are the ICE errors that the client saw, at most MaxErrors.
	Errors []ICEError `json:"errors,omitempty"`
}

// UpdatePrompt replaces the question.
type UpdatePrompt struct {
	Prompt string `json:"prompt"`
}

// ClientEnd ends the stream.
type ClientEnd struct{}

// Ping asks for a pong.
type Ping struct{}

// Candidate is an RTCIceCandidateInit.
type Candidate struct {
	Candidate        string  `json:"candidate"`
	SDPMid           *string `json:"sdpMid"`
	SDPMLineIndex    *uint16 `json:"sdpMLineIndex"`
	UsernameFragment *string `json:"usernameFragment"`
}

// ICEError is an RTCPeerConnectionIceErrorEvent.
type ICEError struct {
	URL  string `json:"url"`
	Code int    `json:"errorCode"`
	Text string `json:"errorText"`
}

// Type implements Message.
func (Join) Type() string { return "join" }

// Type implements Message.
func (Offer) Type() string { return "offer" }

// Type implements Message.
func (ClientICE) Type() string { return "ice" }

// Type implements Message.
func (UpdatePrompt) Type() string { return "update_prompt" }

// Type implements Message.
func (ClientEnd) Type() string { return "end" }

// Type implements Message.
func (Ping) Type() string { return "ping" }

func (Join) fromClient()         {}
func (Offer) fromClient()        {}
func (ClientICE) fromClient()    {}
func (UpdatePrompt) fromClient() {}
func (ClientEnd) fromClient()    {}
func (Ping) fromClient()         {}

// stamp writes a time as the API does: in UTC, with milliseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
