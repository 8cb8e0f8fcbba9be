// Package queue forecasts when the work on queued analyses begins.
//
// Queued analyses begin in the order in which they were created, over all accounts. Those of
// the service itself come last: their jobs have the lowest priority (handlers/jobs). Callers
// pass the analyses in this order.
//
// A forecast plays the unfinished analyses forward over the slots of the living nodes, at
// the speed of the latest completed ones. Callers read those analyses and pass them in; the
// package keeps nothing and reads no clock.
//
// The forecast knows the length of each video and which videos have a survey. It does not
// know how much of a video a new scan covers. A scan of a part of a video, or one that only
// adds keypoints, counts as a scan of the whole video.
//
// It imports domain/query alone, to tell whether a stored survey can answer a query.
package queue
