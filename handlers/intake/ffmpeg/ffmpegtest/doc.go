// Package ffmpegtest gives tests the runner of the ffmpeg in PATH.
//
// It may import handlers/intake/ffmpeg and testify. Only tests import it.
package ffmpegtest
