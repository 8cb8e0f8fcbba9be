// Command catalog writes docs/events.md and docs/schemas/events from the events that
// the codec knows. What it says is taken from the comments of the Go types, so that it
// has one source; what an event looks like is taken from the types themselves.
//
//	catalog ROOT    with ROOT the top of the repository; "make generate" runs it
//
// A schema that is there is never written again: it is the reference for what the log
// holds. When an event would be stored in another shape, or one that has a schema is
// not registered any more, catalog says so, writes nothing and exits with 1; with it
// fail "make generate" and "make verify". The tests of codec check the same. Only while
// a version has not left your machine may its schema and golden payload be removed by
// hand and made anew.
//
// It may import eventstore, codec, fold and the domain; nothing that touches a
// database.
package main

//go:generate go run . ../../..
