// Package objects stores the bytes of videos in one bucket behind gocloud.dev/blob: a folder
// (file://) by default, or S3 and compatible servers by URL (s3://).
//
// It may import domain/fault, domain/video, handlers/wire, the standard library, gocloud.dev
// and the S3 client of AWS.
//
// # Life of an uploaded object
//
//	state      key             moved by                          next
//	(none)     uploads/<id>    PUT to the signed URL             uploaded
//	uploaded   uploads/<id>    another PUT                       uploaded (replaced completely)
//	uploaded   uploads/<id>    Promote to videos/<id>.<hash>     uploaded, and kept under that key
//	any        uploads/<id>    Freeze                            closed: removed, every later PUT is refused
//	any        uploads/*       Sweep, after an age               (none)
//
// Completing a video has five steps: Stat the upload, probe it, Promote it under the ETag of
// the probed bytes, record the video, Freeze the upload. Promote may be repeated, so a crash
// between two steps loses nothing and a second attempt succeeds. The kept key follows from the
// ETag (KeptKey), so other bytes that are uploaded meanwhile get another key.
//
// # Recordings
//
// The objects of the recording of a stream have keys that start with recordings/<stream id>/.
// Put stores them durably, and refuses them like uploads when the disk is nearly full.
// DeleteRecording finds all of them. Walk leaves them out, because they belong to no video.
//
// # Guarantees
//
//   - An object is complete or missing. Its bytes gather in a temporary file, which is renamed
//     after the last byte has arrived and was counted. A cut connection, a body over the limit
//     and a full disk leave nothing. A killed process leaves a *.tmp file, which Sweep
//     removes.
//   - An upload URL that is still valid cannot change a ready video. No upload URL is signed
//     for the video's key, and a PUT never writes into an existing file. Promote can therefore
//     use a hard link, which costs nothing for 2 GiB. It syncs to disk before it returns.
//   - An awaited URL may be given out before its object exists. It is a URL of this service
//     with every kind of bucket. The reader waits (Options.Await). Then the file of a folder is
//     served, or the reader is redirected to the bucket.
//   - A signed URL is bound to its method, key, content type, size limit, file name and expiry
//     by HMAC-SHA-256, which is compared in constant time. It is a bearer secret, so logs must
//     show only the path of such a request, not its query.
//
// # Limits of a PUT
//
// A body over 2147483648 bytes is 400 video_too_large. A body over a smaller limit in the
// URL is 413 payload_too_large. Content-Length is checked before a byte is read, and every byte
// is counted as it arrives. An empty or cut body is 400 upload_incomplete, as for POST complete
// (docs/contract.md#complete-video). S3 cannot limit the length of a presigned PUT. Its size is
// checked when the upload is completed, and an upload over the limit is removed then. Until
// then, or until the sweep, S3 keeps the sent bytes.
//
// # Failures
//
// The folder of a store has an empty file as its mark. While the mark is missing, the folder was
// removed or its disk is not mounted: every call fails then, because objects would look deleted
// and new ones would be written to another disk. Any failure of the store is
// capacity_exhausted, with an UnavailableError as its cause. Check writes, reads and removes an
// object.
//
// # Room
//
// Options.MinFree bytes on the disk of a folder stay free, so that work on stored videos can
// continue. A PUT whose Content-Length does not fit is refused before a byte is read. The free
// space is checked again every 16 MiB; when it is too small, the upload is removed and refused
// with capacity_exhausted. A full disk gives the same error. At most 2 PUTs to one URL run at
// once on a node, so one URL takes at most twice its limit.
//
// # Drivers
//
// The table in drivers.go has the sizes of a stripped program that only opens a bucket,
// measured on linux/amd64. Only fileblob and s3blob are compiled in.
package objects
