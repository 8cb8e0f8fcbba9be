// Package demo stores the demo videos of the service (docs/contract.md#demo-videos).
//
// The videos are embedded MP4 files with drawn scenes, so it is known exactly what they show.
// The answers are not prepared: the real engine is asked the questions of each scene, and its
// answers stand as they come.
//
// # Storing a video
//
//	step       state when the program stops there
//	write      a file in the temporary folder, which the next start removes
//	thumbnail  the same
//	probe      the same
//	store      objects without a reference; the next try writes them again
//	(record)   done by the caller: the video exists and is never stored again
//
// # Guarantees
//
//   - Object keys contain the hash of the video. Two nodes with different releases of this
//     program do not overwrite each other's files.
//   - The id of a video follows from the name and the revision of its scene. A test fails
//     when a clip or its drawing changes without a new revision.
//
// # Changing a clip
//
// The tests of this package draw the clips with the package paint. The program itself draws
// nothing. After a change of a drawing, raise the revision of its scene and run
// go test ./handlers/intake/demo -run TestClips -update.
//
// It may import domain/id, domain/video, handlers/objects, handlers/intake/ffmpeg,
// handlers/intake/probe, handlers/intake/scratch and the standard library.
package demo
