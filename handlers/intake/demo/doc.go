// Package demo draws the demo videos of the service (api-v1.md, "Demo video list") and
// stores them.
//
// Each scene is a painter in Go: shapes by their distance from an edge, one picture at
// a time, piped into ffmpeg. Because the scene is drawn, its truth is known; what the
// service says about it is not: its questions are asked of the real engine like any
// other, and the answers stand as they come.
//
// # Making one
//
//	step      what is left when the program stops there
//	draw      a file in the temporary folder, removed at the end
//	probe     the same
//	store     objects that nothing refers to; the next try writes them again
//	(record)  by the caller: the video exists, and is never made again
//
// # Guarantees
//
//   - One release of ffmpeg makes the same bytes every time, on any number of cores. The
//     objects are named for the hash of the video, so two nodes with different releases
//     do not overwrite each other.
//   - The id of a scene follows from its name and its revision; a test holds a change
//     of what is drawn to a new revision.
//
// It may import domain/id, domain/video, handlers/objects, handlers/intake/demo/paint,
// handlers/intake/probe and the standard library.
package demo
