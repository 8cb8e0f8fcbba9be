// Package forged makes MP4 files for tests whose headers and tables lie about how long they
// are; the service never imports it. ffmpeg renders an honest clip, and a few bytes of it
// are changed.
//
// It may import the standard library.
package forged
