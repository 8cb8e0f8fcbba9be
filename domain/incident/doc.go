// Package incident decides the life of a platform incident: a time in which the service
// itself was at fault. An analysis that fails while one is open may be run again for free
// (api-v1.md, "States and transitions: Analysis").
//
// # States
//
//	state  | command | next      | event
//	(none) | Open    | open      | incident.opened
//	(none) | Close   | unchanged | refused with resource_not_found
//	any    | Open    | unchanged | refused with resource_conflict
//	open   | Close   | closed    | incident.closed
//	closed | Close   | unchanged | (none)
//
// The first row that fits holds. Several incidents may be open at once.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package incident
