// Package export writes the books in formats for other programs: a journal for hledger,
// a table as CSV, and JSON lines. It also writes a printable statement. A bundle has everything needed to check an account's ledger elsewhere: by the
// program in it, which needs only Python, or by CheckBundle.
//
// Amounts are whole credit-seconds in every format. The signs are those of the ledger, from
// the customers' point of view. The seconds that a customer can use are positive. A grant
// is a negative amount in an account of the platform. The same log gives the same bytes, and
// an export of any size needs the memory of one page.
//
// It may import domain, projections/ledger/book, eventstore with codec, fold and translog, decimal,
// and a library for a format. It does not access the database.
package export
