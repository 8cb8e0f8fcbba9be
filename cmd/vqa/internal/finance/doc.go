// Package finance prints the ledger for people: balances, holds, journals, statements, comparisons of
// prices, audits and bundles. It also writes the files of exports. After an error, no partial file
// remains.
//
// It may import the ledger's projections, the domain's credit and the terminal package. It reads
// nothing from the database itself.
package finance
