// Package media brings videos in: it checks, probes and keeps what was uploaded, and
// fetches what a URL names. The packages below do the parts: objects (the store and
// its signed URLs), egress (the one outbound client), probe (ffprobe),
// survey (what was seen in a video), artifact (annotated videos), demo (videos for
// everyone) and fixture (the video of test mode).
//
// It may import domain and its own subpackages.
package media
