// Command catalog writes docs/events.md and docs/schemas/events from the registered events. The
// descriptions are the comments of the Go types, and the shapes are the types themselves.
//
//	catalog ROOT    ROOT is the top folder of the repository; "make generate" runs it
//
// An existing schema is never overwritten: it records the shape that the log may hold. When an
// event would be stored in another shape, or an event with a schema is not registered, catalog
// reports it, writes nothing and exits with 1. Then "make generate" and "make verify" fail too.
// The tests of codec check the same. You may delete the schema and the golden payload of a version
// by hand only while the version exists on your machine alone.
//
// It may import eventstore, codec, fold and the domain. It must not use a database.
package main

//go:generate go run . ../../..
