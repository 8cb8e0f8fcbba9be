// Package artifact draws the result of an analysis: an annotated copy of the video, and a
// contact sheet with the best frame of each clip (docs/contract.md#artifacts). A count has no
// clips; the intervals in which its number was visible take their place.
//
// It may import domain, handlers/objects, handlers/intake/ffmpeg, handlers/intake/scratch and
// golang.org/x/image (the letters; the fonts are part of the program). One ffmpeg process
// decodes and one encodes. Between them the marks are drawn on raw frames.
//
// A video that changes its size keeps the shape of each part: the annotated video has the size of the
// first frame, and smaller frames stand in its middle.
//
// # Content
//
//   - Boxes with noun and probability, for the objects that an answer follows
//     (answer.Observe), where they are more likely there than not. Between two samples the
//     box of one object moves evenly. Before its first sample and after its last one it stays
//     for half an interval.
//   - Below the video, never over it: the answer, the question, a timeline with the clips
//     and the time. They stay readable on every background.
//   - A video of at most 600 seconds is shown completely. Of a longer video, the
//     excerpts around its clips are shown with 2 seconds before and after each, from the first
//     clip until 600 seconds are full. A longer video without clips has no annotated video.
//   - The sheet has up to 12 clips of the annotated video, those with the highest
//     confidence.
//
// # Guarantees
//
//   - The video is H.264, yuv420p, at most 960 pixels wide, without sound, at most 30 frames
//     per second, and playable while it is loading.
//   - The memory for a rendering does not grow with the length of the video. The context
//     and a deadline of the Studio bound its time.
//   - A Studio stores both files or none, so a failed attempt leaves nothing behind.
//   - Make stores exactly the files that Plan named. The exception is a video with fewer
//     frames than its length promises, which may get no sheet.
//   - A reader of a pending artifact waits at a Waiter: 50 seconds at most, and 64
//     readers at once.
package artifact
