// Package id creates and checks the public ids of resources. An id is a prefix that names
// the kind, an underscore and the 26 characters of a ULID (docs/contract.md#ids).
//
// It may import the standard library and ulid. Time and entropy are passed in.
package id
