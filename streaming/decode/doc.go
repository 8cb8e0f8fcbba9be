// Package decode turns the pictures of a live stream into samples for the engine, with one ffmpeg for
// each stream.
//
// It may import the standard library and streaming/assemble. It builds the arguments of ffmpeg and
// reads its output. An implementation of FFmpeg finds the program and confines it.
//
// # Input
//
// ffmpeg gets each picture as one frame of an IVF stream, also H.264, with the RTP time. The
// container says where a picture ends, so a picture is decoded as soon as it is complete: 2 ms after
// its last packet at p95. With a raw H.264 stream it would wait for the next one (35 ms). Probing is
// off, and there is one thread, because frame threads hold a picture back. The flag nobuffer is not
// used: it discards the first pictures.
//
// # Samples
//
// Of each 1/FPS s of the stream, the first picture becomes a sample: a JPEG of the same size and
// quality as for uploads. The newest sample waits for the engine; a newer one replaces it. So the
// engine decides the rate, and is at most one sample behind.
//
// # Faults
//
// ffmpeg scales all later pictures to the size of the first, so a new one starts at the keyframe that
// changes the size. When ffmpeg ends, hangs for Stall, or is too slow, its pictures are dropped until
// the next keyframe, which Keyframe requests. A new ffmpeg then goes on, and the stream does not end.
// One that ended without a sample makes the next one wait: 0.2 s, doubled up to 5 s.
//
// # Bounds
//
// At most 64 pictures and 8 MiB wait for ffmpeg. Push never blocks. No process is left after Close.
package decode
