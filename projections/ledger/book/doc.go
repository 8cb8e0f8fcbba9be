// Package book reads the log as the books of finance. Each credit event is an entry in
// double entry. Balances, journals, statements and the calculation under other prices are
// made from the entries alone.
//
// All reads use one Snapshot, a read-only transaction, so they are consistent while the
// service keeps writing. Entries are streamed. Memory contains one page of them and the
// state of one account, for a log of any size.
//
// # Periods
//
// An entry belongs to the period of its booked time, which is the latest time of the
// account's entries up to it. It equals the entry's own time unless a clock was set back.
// It never falls within an account. So the entries of a period have no gap, and the closing
// balance of one period is the opening balance of the next.
//
// It may import domain, the contract of eventstore with codec and fold, decimal and pgx. It
// never writes.
package book
