// Package ffmpegtest gives tests a runner of the ffmpeg in PATH, and encodes drawn frames.
//
// It may import handlers/intake/ffmpeg and testify. Only tests import it.
package ffmpegtest
