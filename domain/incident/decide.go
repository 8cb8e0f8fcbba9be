package incident

import (
	"fmt"
	"time"
	"unicode/utf8"

	"vqa/domain/fault"
)

// maxTitle is the longest title, in characters.
const maxTitle = 200

// Decide returns the events of a command, or the fault that refuses it: validation_failed,
// resource_not_found or resource_conflict.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	switch c := command.(type) {
	case Open:
		if s.Exists() {
			return nil, fault.New(fault.ResourceConflict, "The incident already exists.")
		}
		if n := utf8.RuneCountInString(c.Title); n < 1 || n > maxTitle || !utf8.ValidString(c.Title) {
			message := fmt.Sprintf("must have 1 to %d characters", maxTitle)
			return nil, fault.Invalid(fault.Violation{Param: "title", Code: fault.Length, Message: message})
		}
		return []Event{Opened{IncidentID: c.ID, Title: c.Title, Node: c.Node, At: now}}, nil
	case Close:
		if !s.Exists() {
			return nil, fault.New(fault.ResourceNotFound, "")
		}
		if !s.Open() {
			return nil, nil
		}
		return []Event{Closed{IncidentID: s.ID, At: now}}, nil
	default:
		panic(fmt.Sprintf("incident: unknown command %T", command))
	}
}
