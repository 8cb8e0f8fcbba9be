// Package probe finds out what a file is before the service believes it to be a video:
// whether it is a readable MP4 or QuickTime file, its length, size and frame rate
// (api-v1.md, "Video").
//
// It may import domain/fault, handlers/intake/ffmpeg and the standard library. ffmpeg runs
// under the limits of that package, with the same choice of demuxer and stream as sampling
// and drawing: what is measured here is what is decoded later.
//
// # Rules
//
//	the file                                            the answer
//	not MP4 or QuickTime, text, empty, no moov          video_unreadable
//	no video stream (a cover picture is none)           video_unreadable
//	metadata, but not one frame can be decoded          video_unreadable
//	more than 1,000 pictures per second                 video_unreadable
//	no frame could be decoded in time                   capacity_exhausted
//	a frame, and the length is not found in time        the length is nil
//	cannot be opened, ffmpeg is missing, ctx ended      an ordinary error
//
// # Length
//
// The header of a file can claim any length, in four boxes that need not agree. Nothing is
// decided by it; Claimed reads it for the receipt. The length is where the last packet of
// the video stream ends, on the clock of the file. ffmpeg copies the stream into the muxer
// framecrc, which prints one line for each packet, and nothing is decoded. Edit lists,
// fragments and tables are read by the same code that reads them for decoding. The lines are
// read as they come; memory does not grow with their number.
//
// This reads the whole file: 2.07 GB took 3.6 s from a local disk while other work used both
// cores, of which ffmpeg computed 1.3 s. Where two thirds of the Timeout do not suffice, a
// second run seeks to the last key frame and reads from there, which took 0.2 s. A file that
// misleads both runs is found out when it is decoded, see handlers/jobs.
package probe
