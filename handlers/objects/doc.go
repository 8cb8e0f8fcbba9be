// Package objects keeps the bytes of videos: one bucket behind gocloud.dev/blob,
// a folder (file://) by default, S3 and what speaks its protocol by URL (s3://).
//
// It may import domain/fault, handlers/wire, the standard library and gocloud.dev.
//
// # Life of an uploaded object
//
//	state      key             moved by                          next
//	(none)     uploads/<id>    PUT to the signed URL             uploaded
//	uploaded   uploads/<id>    another PUT                       uploaded (replaced whole)
//	uploaded   uploads/<id>    Promote to videos/<id>.<hash>     uploaded, and kept under that key
//	any        uploads/<id>    Freeze                            closed: removed, every later PUT is refused
//	any        uploads/*       Sweep, after an age               (none)
//
// Completing a video is: Stat the upload, probe it, Promote it under the ETag
// that was probed, record the fact, Freeze the upload. Promote may be repeated, so
// a crash between any two of these steps loses nothing and a second try succeeds. The
// kept key follows from the ETag (KeptKey): whatever is uploaded and completed meanwhile
// has another one.
//
// # Guarantees
//
//   - An object is whole or absent: bytes gather in a temporary file and take their
//     name by a rename, after the last byte arrived and was counted. A cut
//     connection, a body over the limit or a full disk leaves nothing; what a
//     killed process leaves is a *.tmp file that Sweep removes.
//   - A ready video cannot be changed through an upload URL that is still valid:
//     no upload URL is ever signed for its key, and a PUT never writes into an
//     existing file (Promote may therefore be a hard link, which costs nothing for
//     2 GiB, and syncs to disk before it returns).
//   - An awaited URL is this service's own, whichever the bucket, and may be given out
//     before its object is there: a reader waits (Options.Await), and then plays a file of a
//     folder, or is sent on to the bucket.
//   - A signed URL is bound to its method, key, content type, size limit, file name
//     and expiry by HMAC-SHA-256, compared in constant time. It is a bearer secret:
//     log the path of such a request, not its query.
//
// # Limits of a PUT
//
// A body over 2147483648 bytes is 400 video_too_large; one over a smaller limit
// signed into the URL is 413 payload_too_large. Content-Length is judged before a
// byte is read, and every byte is counted as it arrives. An empty or cut body is
// 400 upload_incomplete, the code that POST complete has for it (api-v1.md,
// "Videos"). S3 cannot bound the length of a presigned PUT: there the size is
// judged at complete, and what is over the limit is removed then. Until somebody completes
// it, or the sweep removes it, S3 keeps whatever was sent.
//
// # Room
//
// Options.MinFree bytes of a folder's disk stay free for the work on what is already
// there. A PUT whose Content-Length does not fit is refused before a byte is read, and
// every 16 MiB the free space is looked at again: capacity_exhausted, and nothing stays of
// the upload. Writing to a disk that is full is the same error. At most 2 PUTs to one URL
// run at once on a node, so that a URL takes no more room than twice its limit.
//
// # Drivers
//
// Size of a stripped program that only opens a bucket, measured on linux/amd64:
// see the table in drivers.go. Only fileblob and s3blob are compiled in.
package objects
