// Package probe checks that a file is a readable MP4 or QuickTime video, and measures its
// length, size and frame rate (docs/contract.md#video).
//
// It may import domain/fault, handlers/intake/ffmpeg and the standard library. ffmpeg runs
// under the limits of that package, with the same demuxer and stream as for sampling and
// drawing. The measured stream is therefore the one that is decoded later.
//
// # Rules
//
// Inspect reads the boxes of the file (ISO/IEC 14496-12), Probe decodes its first frame.
//
//	file                                                result
//	another format, text, empty, no moov                video_unreadable, with what it is
//	no video track                                      video_unreadable
//	an encrypted track                                  video_unreadable
//	the last frame ends beyond the file                 *CutError
//	metadata, but no frame can be decoded               video_unreadable, with its codec
//	more than 1,000 frames per second                   video_unreadable
//	no frame could be decoded in time                   capacity_exhausted
//	a frame, but the length is not found in time        the length is nil
//	cannot be opened, ffmpeg is missing, ctx ended      an ordinary error
//
// # Track
//
// The first enabled video track is examined, as in browsers. Attached pictures, thumbnails of
// chapters, and tracks that only accompany another one (a depth map, transparency) never are. When
// no track is enabled, all count as enabled. Of an alternate group, the first enabled track counts.
//
// # Cut files
//
// A download without a length can break off unnoticed. The tables of the file say where its last
// frame ends: chunk offsets and sample sizes, or the runs of the last fragment. A file of fragments
// that was cut between two of them looks complete.
//
// # Length
//
// The header of a file can claim any length, in four boxes that need not agree. No decision
// depends on that claim; Inspect reads it for the receipt. The length is the end of the last
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
