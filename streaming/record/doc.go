// Package record stores the pictures of a live stream, and makes files of them that can be played
// (docs/contract.md#recording).
//
// It may import the standard library, domain/fault, domain/stream and streaming/assemble. It builds
// the arguments of ffmpeg. An implementation of FFmpeg finds the program and confines it.
//
// # Parts
//
// A Recorder writes the H.264 pictures of a stream, as they were sent, into parts of 10 s or 8 MiB. It
// calls Options.Stored with each part that is durable. After a crash the recording is therefore
// complete up to the last part that the log has.
//
// The first part begins with a keyframe. Each later one begins where the part before it ends, so all
// parts in order are one H.264 stream in Annex-B format. Its size may change at any keyframe.
//
// # Times
//
// Annex-B has no times: a player that assumes 25 pictures per second shows 12.0 s as 13.6 s. Each part
// therefore has an index, an object of about 5 bytes for each picture with its length and its time on
// the timeline of the recording. The timeline follows the RTP time of the sender. It follows the time
// of arrival instead where the RTP time starts again (a new track has its own), or where the two differ
// by more than 30 s between two pictures.
//
//	index   magic "VQAIDX1\n", then for each picture: length (uvarint), time since the previous
//	        picture in ticks of 1/90000 s (varint); the first time counts from the start of the recording
//
// # Files
//
// Finish makes two objects of the parts and deletes the parts: the Annex-B stream, and an MP4 with
// the true times. For the MP4, ffmpeg reads an IVF stream with the time of each picture and copies the
// pictures without encoding. It keeps B-frames in order, because it probes the first pictures. The MP4
// is stored last: when it exists, the recording is finished. So Finish can be repeated after a crash at
// any point.
//
//	state      objects                         moved by               next
//	recording  part-N.h264, part-N.index       Push, Close            recording
//	recording                                  Finish: both stored    finished, parts remain
//	finished   video.h264, video.mp4, parts    Finish: parts deleted  finished
//
// # Faults
//
// A Recorder never delays the stream. A part that cannot be stored is tried again, 0.2 s later at
// first, then after up to 5 s. After Options.Patience, or when Options.MaxBytes wait in memory, the
// recording has failed: the Recorder drops all pictures, and calls Options.Failed once.
//
// # Bounds
//
// A Recorder keeps at most MaxBytes of pictures, and starts one goroutine. Finish keeps one index
// in memory. Its ffmpeg took 82 MB for 4 hours at 30 pictures per second, and 56 MB for 1.15 GB of
// 1280x720 (BenchmarkFinish).
package record
