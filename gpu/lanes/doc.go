// Package lanes shares an engine between live streams and uploads.
//
// An analysis of an upload keeps several requests of some frames in flight, so that the engine never
// waits. The frame of a live stream would wait behind all of them: 12 frames with two threads, which is
// more than a second on a slow machine. While streams use the engine, uploads therefore send single
// frames, at most as many at once as the engine processes at once (gpu.Info.Concurrency). Then the frame
// of a stream waits for at most one other frame of the uploads, and both get about the same share.
// Without streams, uploads are passed on as they are.
//
// It may import gpu and golang.org/x/sync.
package lanes
