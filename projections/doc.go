// Package projections makes read models of the log: tables that follow from events
// alone and can be thrown away and made anew.
//
// A Model is one table and the fold that fills it. The same fold serves the live
// table, which is brought up to date inside the append's own transaction, so that a
// read after a write is never stale, and the rebuild, which runs it over the whole
// log into shadow tables and swaps them in.
//
// The packages below hold the models and their readers: resources (accounts, keys,
// videos, analyses) and ledger (balances, transactions).
//
// It may import domain, the contract of eventstore and pgx. It never appends, and a
// model never reads another model's table.
package projections
