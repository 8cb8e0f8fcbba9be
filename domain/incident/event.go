package incident

import "time"

// Event is a fact about an incident.
type Event interface {
	EventType() string
	isEvent()
}

// Opened says that an incident began.
type Opened struct {
	IncidentID string `json:"incident_id"`
	// Title describes the fault of the service.
	Title string `json:"title"`
	// Node is the process that opened the incident; absent when an operator did.
	Node string    `json:"node,omitempty"`
	At   time.Time `json:"at"`
}

// Closed says that an incident is over.
type Closed struct {
	IncidentID string    `json:"incident_id"`
	At         time.Time `json:"at"`
}

// EventType returns the stored name.
func (Opened) EventType() string { return "incident.opened" }

// EventType returns the stored name.
func (Closed) EventType() string { return "incident.closed" }

func (Opened) isEvent() {}
func (Closed) isEvent() {}
