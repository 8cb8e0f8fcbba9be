// Package frames decodes a video into a stream of frames, with ffmpeg as a process.
//
// It may import the standard library only. It builds the arguments and reads the output. An
// implementation of FFmpeg finds the program, confines it and opens the source.
//
// Guarantees of Sample:
//   - Sample k is the frame that a viewer sees at k/FPS: the last one with a presentation
//     time that is not later. At is that instant on the clock of the video. Second 0 is the
//     start of the container, so a video track that begins late has no samples before it.
//     Variable frame rates and gaps are handled.
//   - A video with at least one decodable frame yields at least one sample. The fps filter
//     of ffmpeg alone drops very short videos; then the first frame is taken.
//   - Frames are upright (rotation applied), with square pixels, at most LongSide long and
//     never enlarged. They are shrunk by averaging areas and encoded as JPEG at quality 96, or as
//     PPM, with the colors of the video, which Colors converts.
//   - Each frame has the shape that the video has at its instant, also after a change.
//   - Memory is bounded: one frame here and the buffer of a pipe. When the consumer is slow,
//     ffmpeg waits.
//   - The process has ended when the iteration ends, also after an error.
//
// With Within, only the instants of the grid in some intervals are encoded. Each frame is
// the same, bit for bit, as without it.
//
// With Coarse, frames that no other frame refers to are not decoded, which saves a third of
// the decoding. A sample may then be older than At by the length of one run of B-frames,
// about 0.1 s.
//
// ffmpeg draws each frame on a canvas of a constant size, and Go encodes it. An encoder of ffmpeg
// would stretch the frames after a change of the size. Encoding a frame of 640x360 as JPEG takes 8 ms,
// a third of its detection; as PPM it takes 1 ms.
//
// Quality 1, the best of ffmpeg's scale, has the same steps as quality 96 here. It was measured with
// deblocking of every frame on 23 labeled clips. The area under the curve per clip and class was
// .991, as with uncompressed frames. Quality 3 without deblocking of B-frames gave .987. Decoding
// 312 s of video took 9.0 instead of 8.5 s of CPU.
package frames
