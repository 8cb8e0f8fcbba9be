// Package resources is the read model of what the API serves: accounts, API keys,
// videos and analyses, each row the folded state of one aggregate.
//
// Every read names its tenant; a row of another account is as absent as one that
// does not exist (design.md, law 9).
package resources
