// Package decode turns the pictures of a live stream into samples for the engine, with one ffmpeg for
// each stream.
//
// It may import the standard library and streaming/assemble. It builds the arguments of ffmpeg and
// reads its output. An implementation of FFmpeg finds the program and confines it.
//
// # Input
//
// ffmpeg gets each picture as one frame of an IVF stream, also H.264, with a time. The
// container says where a picture ends, so a picture is decoded as soon as it is complete: 2 ms after
// its last packet at p95. With a raw H.264 stream it would wait for the next one (35 ms). Probing is
// off, and there is one thread, because frame threads hold a picture back. The flag nobuffer is not
// used: it discards the first pictures.
//
// # Samples
//
// HDR is converted to BT.709, where an H.264 stream says so. Of each 1/FPS s of the stream, the first picture becomes a sample: a JPEG of the same size and
// quality as for uploads. The newest sample waits for the engine; a newer one replaces it. So the
// engine decides the rate, and is at most one sample behind.
//
// The times are those of the sender, so that jitter on the way does not matter. But they buy nothing: each
// sample also costs 1/FPS s between arrivals, and a gap of more than MaxGap pays for none. At most one second
// is saved, for pictures that come all at once. Times that begin again, as those of a new track or of an
// encoder that was started again, continue after the ones before. A picture is also chosen when none was for 2/FPS s.
//
// ffmpeg gets times that the decoder writes. Their lowest bit says whether the picture becomes a sample.
//
// # Faults
//
// ffmpeg scales all later pictures to the size of the first, so a new one starts at the keyframe that
// changes the size, and at one that is requested when the rotation changes. When ffmpeg ends, hangs for Stall, or is too slow, its pictures are dropped until
// the next keyframe, which Keyframe requests. A new ffmpeg then goes on, and the stream does not end.
// One that ended without a sample makes the next one wait: 0.2 s, doubled up to 5 s.
//
// # Bounds
//
// At most 64 pictures and 8 MiB wait for ffmpeg. Push never blocks. No process is left after Close.
package decode
