package incident

import (
	"fmt"
	"time"
)

// State is one incident. The zero State is an incident that does not exist.
type State struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
	// Node is the process that opened the incident; empty when an operator did.
	Node     string    `json:"node,omitempty"`
	OpenedAt time.Time `json:"opened_at"`
	// ClosedAt is nil while it is open.
	ClosedAt *time.Time `json:"closed_at,omitempty"`
}

// Exists is true once the incident is opened.
func (s State) Exists() bool { return s.ID != "" }

// Open is true until the incident is closed.
func (s State) Open() bool { return s.Exists() && s.ClosedAt == nil }

// Evolve folds one event into the state. It panics on an unknown event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Opened:
		return State{ID: e.IncidentID, Title: e.Title, Node: e.Node, OpenedAt: e.At}
	case Closed:
		s.ClosedAt = &e.At
		return s
	default:
		panic(fmt.Sprintf("incident: unknown event %T", event))
	}
}
