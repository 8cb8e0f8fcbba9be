// Package forged makes MP4 files for tests. Their headers and tables claim a false length:
// ffmpeg renders an honest clip, and then a few bytes are changed. Only tests import it.
//
// It may import the standard library.
package forged
