// Package fold lists the categories of streams and how the events of each fold to a state.
// Commands, read models and tools all use this list.
//
// The name of a category is stored, like the name of an event. It is written by hand and never
// changes.
//
// # Snapshots
//
// A snapshot is the JSON of a state. It names the shape of the state: the fields of its type, and the
// revision of its fold. A snapshot of another shape is not used, because it may lack fields. The stream
// is then folded from its first event.
//
// It may import domain and eventstore. It must not use a database.
package fold
