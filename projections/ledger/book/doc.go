// Package book reads the log as the books of finance: each credit event is an entry in
// double entry, and balances, journals, statements and a calculation under other prices
// follow from the entries alone.
//
// Everything is read in one Snapshot, a read-only transaction, so that what is read
// together belongs together while the service goes on writing. Entries stream: memory
// holds one page of them and the state of one account, whatever the size of the log.
//
// # Periods
//
// An entry belongs to the period of its booked time: the latest time that its account's
// entries carry up to it. It is the entry's own time unless a clock was set back, and it
// never falls within an account, so that a period is a run of entries without a hole and
// the closing balance of one is the opening balance of the next.
//
// It may import domain, the contract of eventstore with codec, and pgx. It never writes.
package book
