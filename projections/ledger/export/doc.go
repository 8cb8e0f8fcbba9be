// Package export writes the books in the forms that others read: journals for hledger
// and Beancount, tables as CSV and Parquet, JSON lines, a printable statement, and a
// bundle with everything that it takes to check an account's ledger elsewhere.
//
// Amounts are whole credit-seconds in every form, never a float. The signs are those of
// the ledger, which are those of the customers' books: what they may use is positive,
// what they were given comes as a negative amount out of an account of the platform.
// The same log gives the same bytes, and an export of any size needs the memory of one
// page.
//
// It may import domain, projections/ledger/book, eventstore with its codec, and a
// library for a format. It knows no database.
package export
