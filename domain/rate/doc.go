// Package rate is the arithmetic of request limits (docs/contract.md#rates): how many
// requests a subject may still make, and when.
//
// It counts the granted requests of each second. A second counts until all of its requests are
// more than a minute old, so no 60 seconds have more than the limit, wherever they begin. The
// price is that a request counts for up to one second too long. No request is stored.
//
// Refused requests do not count. A client that keeps asking is therefore granted its next
// request as early as one that waits.
//
// It is pure, and imports the standard library only.
package rate
