// Package resources is the read model of what the API serves: accounts, API keys,
// client tokens, device codes, videos, analyses and incidents, each row the folded state
// of one aggregate.
//
// Every read of what an account owns names its tenant; a row of another account is as
// absent as one that does not exist (design.md, law 9). What is found by the hash of a
// secret belongs to whoever knows the secret.
package resources
