// Package paint draws test pictures: shapes that are filled with colors, one over the other.
// A shape is a function that returns the distance of a point from the edge.
//
// The clips of the demo videos are drawn with it, and the scenes of the test suite that asks
// the real engine. Their content is known exactly. Only tests import this package.
//
// It imports only the standard library. Guarantees: on one kind of processor, the same calls
// draw the same picture, bit for bit. Edges are smooth over one pixel. Parts of a shape
// outside the picture are cut off.
package paint
