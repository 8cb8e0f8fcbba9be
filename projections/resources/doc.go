// Package resources is the read model of the resources of the API: accounts, API keys,
// client tokens, device codes, videos, analyses, live streams, webhook endpoints and incidents. Each row is
// the folded state of one aggregate.
//
// A queued analysis has a position in the one queue of all accounts, and an estimate of when
// its work starts. Estimator reads the unfinished analyses and domain/queue makes the
// forecast. The forecast also says when a full queue has room again.
//
// The percent of a running analysis is not part of its row, because it is not in the log.
// Progress keeps it in a table of its own, which the readers join. It never falls, over all
// attempts and nodes. Readers notice a new percent within half a second, as they notice a
// change on another node. A rebuild does not touch the table.
//
// The turns of accounts in the queue are not in the log either. The jobs record them with
// RecordTurns when they choose the next analysis.
//
// Every read of an account's rows names the tenant. A row of another account looks like one
// that does not exist (docs/architecture.md#law-9). The lookups by the hash of a secret name
// no tenant, because the secret identifies its owner.
//
// It may import domain, eventstore/fold, projections and pgx.
package resources
