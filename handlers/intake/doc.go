// Package intake brings videos into the service. It checks, probes and stores uploads, and
// fetches videos from URLs.
//
//	egress   the only HTTP client for URLs that callers name
//	probe    checks and measures a file
//	ffmpeg   the only package that runs ffmpeg, confined
//	scratch  temporary folders that are removed after a crash
//	fixture  the video of test mode, with its answers
//	demo     the demo videos
//	forged   files for tests that claim a false length
//
// It may import domain, handlers/objects, its own subpackages and golang.org/x/sync.
//
// # Slots
//
// A node probes only a few files at once, and at most half of them for one account (Slots).
// Completing an upload waits for a slot for 20 s and is then refused with capacity_exhausted. A
// fetch waits as long as its attempt lasts.
//
// # Completing an upload
//
//	Inspect   probes the upload
//	Keep      gives the probed bytes a key of their own
//	(record)  done by the caller: an event with that key makes the video ready
//	Close     removes the upload
//
// Each step may be repeated, and parallel calls agree. Until the event is recorded, the upload
// stays and completing it may be tried again. Bytes that were kept without an event belong to
// no video and are removed later.
package intake
