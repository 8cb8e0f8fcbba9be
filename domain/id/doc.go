// Package id makes and checks the public identifiers of resources: a prefix that
// names the kind, an underscore and the 26 characters of a ULID (api-v1.md,
// "Conventions").
//
// It may import the standard library and ulid. Time and entropy are passed in.
package id
