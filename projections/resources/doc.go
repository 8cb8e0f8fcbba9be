// Package resources is the read model of what the API serves: accounts, API keys,
// client tokens, device codes, videos, analyses and incidents, each row the folded state
// of one aggregate.
//
// A queued analysis has its place in the queue of all accounts, and an estimate of when the
// work on it begins: the unfinished analyses are played forward over the slots of the living
// nodes, at the speed of the latest completed ones. Nothing is kept for it but the forecast
// of a moment, which also tells who finds the queue full when it has room. It knows what an
// analysis looks at from its length and its video alone, so that a look at only a part of a
// video, for joints that were not asked for before, counts as a whole one.
//
// Every read of what an account owns names its tenant; a row of another account is as
// absent as one that does not exist (design.md, law 9). What is found by the hash of a
// secret belongs to whoever knows the secret.
package resources
