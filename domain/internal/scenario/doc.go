// Package scenario tests the aggregates of the domain. A case lists the given events, a
// command, and the events or the fault that must follow. The state table in a package's
// doc.go is compared with the decisions of the package.
//
// Only tests import it. It may import the standard library, domain/fault, go-cmp and
// testify.
package scenario
