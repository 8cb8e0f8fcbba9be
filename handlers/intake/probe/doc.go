// Package probe checks that a file is a readable MP4 or QuickTime video, and measures its
// length, size and frame rate (docs/contract.md#video).
//
// It may import domain/fault, handlers/intake/ffmpeg and the standard library. ffmpeg runs
// under the limits of that package, with the same demuxer and stream as for sampling and
// drawing. The measured stream is therefore the one that is decoded later.
//
// # Rules
//
//	file                                                result
//	not MP4 or QuickTime, text, empty, no moov          video_unreadable
//	no video stream (a cover picture does not count)    video_unreadable
//	metadata, but no frame can be decoded               video_unreadable
//	more than 1,000 frames per second                   video_unreadable
//	no frame could be decoded in time                   capacity_exhausted
//	a frame, but the length is not found in time        the length is nil
//	cannot be opened, ffmpeg is missing, ctx ended      an ordinary error
//
// # Length
//
// The header of a file can claim any length, in four boxes that need not agree. No decision
// depends on that claim; Claimed reads it for the receipt. The length is the end of the last
// packet of the video stream, on the clock of the file. ffmpeg copies the stream into the muxer
// framecrc, which prints one line for each packet and decodes nothing. Edit lists, fragments
// and tables are read by the same code as for decoding. The lines are read one by one, so the
// memory does not grow with their number.
//
// This reads the whole file: 2.07 GB took 3.6 s from a local disk on two busy cores, of which
// ffmpeg computed 1.3 s. When two thirds of the timeout do not suffice, a second run reads from
// the last key frame, which took 0.2 s. A file can deceive both runs, but decoding it reveals
// the true length; see handlers/jobs.
package probe
