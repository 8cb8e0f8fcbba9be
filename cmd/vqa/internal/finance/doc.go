// Package finance prints the ledger for people: balances, holds, journals, statements, prices
// compared, audits and bundles. It also writes the files of exports, each whole or not at all.
//
// It may import the ledger's projections, the domain's credit and the terminal package. It reads
// nothing from the database itself.
package finance
