// Package evidence holds the values that a detector reports about a video: boxes,
// keypoints, detections and sampled frames. It also measures the movement of the camera and
// links the detections of one object over time. It states facts only: package answer decides
// a question from them.
//
// A [Linker] pairs each object with the nearest one of the next sample, or of the one after
// when a sample misses it. The distance is measured in heights of the object. A pair that is
// far apart is not linked when one of the two may belong to another object.
//
// The linker compares places in the scene, not in the picture. It takes out the shift of the
// background between two samples, measured from Frame.Shades outside of the objects. The
// shift is known when one shift matches much better than any other. Otherwise the camera is
// taken to stand, or a new segment starts when the pictures differ too much for that.
//
// It may import the standard library. It is pure: no clock, no randomness, no input or
// output.
package evidence
