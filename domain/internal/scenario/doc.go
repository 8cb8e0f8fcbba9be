// Package scenario is how the aggregates of the domain are tested: given events, when
// a command, then events or a fault; and the state table of a package's doc.go, held
// against what its Decide really does.
//
// It is imported by tests only, and may import the standard library, domain/fault,
// go-cmp and testify.
package scenario
