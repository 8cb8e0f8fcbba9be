// Package ledger is the read model of credits: the balance of each account with its open
// holds, and its transactions.
//
// It may import domain, eventstore/fold, projections and pgx.
package ledger
