// Package rate is the arithmetic of request limits (docs/contract.md#rates): how many
// requests a subject may still make, and when.
//
// It estimates a sliding window of one minute from two fixed windows. The requests of the
// previous window count by the share of it that the sliding window still covers. So two
// numbers for each subject are enough, no request is stored, and a burst at the edge of a
// minute gains nothing. The estimate assumes that the previous requests are spread evenly
// over their window. Where they are not, it is off by at most that share of them.
//
// Refused requests do not count. A client that keeps asking is therefore granted its next
// request as early as one that waits.
//
// It is pure, and imports the standard library only.
package rate
