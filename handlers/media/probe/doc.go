// Package probe finds out what a file is before the service believes it to be a video:
// whether it is a readable MP4 or QuickTime file, its duration, size and frame rate
// (api-v1.md, "Video").
//
// It may import domain/fault, handlers/media/ffmpeg, the standard library and golang.org/x/sys/unix. It runs
// ffprobe for the metadata and ffmpeg to decode one frame.
//
// # Rules
//
//	the file                                            the answer
//	not MP4 or QuickTime, text, empty, no moov          video_unreadable
//	no video stream (a cover picture is none)           video_unreadable
//	metadata, but not one frame can be decoded          video_unreadable
//	a frame, and a field is missing                     the field is nil
//	the time ran out                                    what was found until then; no error
//	cannot be opened, a tool is missing, ctx ended      an ordinary error
//
// A file that was cut behind its metadata (moov first) and still holds a frame is
// readable: its duration is what the container says, and billing an analysis rests on
// what is decoded, not on this number alone.
//
// # Guarantees
//
//   - Ten seconds for both processes together, then they are killed.
//   - A process has an address-space and a CPU limit, one decoder thread, an empty
//     environment, and a bounded share of its output is kept.
//   - The demuxer is fixed to MP4/QuickTime and the protocols to the one that the
//     source needs, so that a playlist or script posing as a video can neither open
//     another file nor reach the network.
//
// The library gopkg.in/vansante/go-ffprobe.v2 was read and left out: it keeps the
// whole output in memory whatever its size, decodes no frame and offers no limit on
// the process.
package probe
