// Package finance prints the ledger for people: balances, holds, journals, statements, comparisons of
// prices and audits.
//
// It may import the ledger's projections, the domain's credit and the terminal package. It reads
// nothing from the database itself.
package finance
