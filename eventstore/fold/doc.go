// Package fold says what each category of streams folds to: the one list from which
// commands, read models and tools learn how a history becomes a state.
//
// A category is a stored name, like the name of an event: it is written by hand and
// never changes.
//
// It may import domain and the contract of eventstore; nothing that touches a
// database.
package fold
