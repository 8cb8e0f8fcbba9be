// Package paint draws pictures by code: figures known by their distance from an edge, filled
// with colours that depend on the place, one over the other.
//
// The demo videos are painted with it, and the scenes that tests ask the real engine
// about: what is drawn where, and when, is known exactly.
//
// It imports the standard library alone. Guarantees: the same calls give the same
// picture, bit for bit, on one kind of machine; edges are smooth (one pixel wide), and
// what lies outside the picture is cut off.
package paint
