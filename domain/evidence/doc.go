// Package evidence holds the values that a detector reports about a video: boxes,
// keypoints, detections and sampled frames. It states facts only. What they mean for a
// question is decided by package answer.
//
// It may import the standard library. It is pure: no clock, no randomness, no input or
// output.
package evidence
