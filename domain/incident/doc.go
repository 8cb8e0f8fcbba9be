// Package incident is the aggregate of a platform incident: a time in which the service
// itself is at fault (docs/contract.md#incident). An analysis that fails during an open
// incident may be run again for free.
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
// The first row that fits applies. Several incidents may be open at once.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package incident
