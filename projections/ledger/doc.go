// Package ledger is the read model of credits: each account's balance with its open
// holds, the transactions that made it, and the newest signed checkpoint.
package ledger
