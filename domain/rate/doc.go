// Package rate is the arithmetic of request limits (api-v1.md, "Limits"): how many
// requests a subject may still make, and when.
//
// A sliding window of a minute is told from two fixed ones: the requests of the minute
// before count by the share of it that the sliding window still covers. Two numbers a
// subject are enough, nothing is kept for each request, and a burst at the edge of a
// minute gains nothing. Requests of the minute before are taken to be spread evenly over
// it: where they were not, the estimate is off by at most what the share says.
//
// Refused requests do not count, so that a client which keeps asking is let in as soon as
// one that waited.
//
// It is pure, and imports the standard library only.
package rate
