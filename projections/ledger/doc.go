// Package ledger is the read model of credits: each account's balance with its open
// holds, and the transactions that made it.
package ledger
