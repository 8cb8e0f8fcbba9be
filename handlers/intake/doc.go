// Package media brings videos in: it checks, probes and keeps what was uploaded, and
// fetches what a URL names. The packages below do the parts: objects (the store and
// its signed URLs), egress (the one outbound client), probe (what a file is),
// survey (what was seen in a video), artifact (annotated videos), demo (videos for
// everyone), fixture (the video of test mode), ffmpeg (which runs ffmpeg for all of them,
// confined) and scratch (temporary folders that do not outlive their process).
//
// Files are probed in slots: a few at once on each node, and half of them for one account
// (Slots). Completing an upload waits 20 s for a slot and is then refused with
// capacity_exhausted; a fetch waits as long as its attempt lasts.
//
// # Completing an upload
//
// Each step may be repeated, and calls that run in parallel agree: Inspect probes the
// upload, Keep gives those very bytes a key of their own, the log records the video with
// that key, Close removes the upload. Until the log has recorded it, the upload stays and
// completing may be tried again; what was kept and not recorded belongs to no video and is
// removed.
//
// It may import domain, its own subpackages and golang.org/x/sync.
package intake
