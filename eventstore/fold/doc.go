// Package fold lists the categories of streams and how the events of each fold to a state.
// Commands, read models and tools all use this list.
//
// The name of a category is stored, like the name of an event. It is written by hand and never
// changes.
//
// It may import domain and eventstore. It must not use a database.
package fold
