// Package history creates ledgers in a real database for tests: accounts, credit commands
// at given times, appended as the service appends them.
//
// It is for tests only. It may import domain, eventstore with its packages, migrations, and
// the read models of projections/ledger.
package history
