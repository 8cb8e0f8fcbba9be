// Package artifact draws what an analysis found: an annotated copy of the video, and a
// contact sheet with the best picture of each clip (api-v1.md, "Artifacts"). A count has no
// clips; the intervals in which its number was visible are shown in their place.
//
// It may import domain, handlers/objects, gpu/frames (how a stranger's video is
// opened) and golang.org/x/image (the letters; the fonts are part of the program). ffmpeg
// must be on the PATH: one process decodes, one encodes, and between them the marks are drawn onto raw pictures.
//
// # What is shown
//
//   - Boxes with class and probability, of the detections that count: those of the classes
//     of the question over the threshold. Between two samples the box of one object moves
//     evenly; before its first sight and after its last it stays for half an interval.
//   - Below the picture, never over it: the answer, the question, a timeline with the clips
//     and the time. So no picture can make them unreadable.
//   - A video of at most MaxOutputS seconds is shown whole; of a longer one its clips
//     with 2 seconds around each, from the first on until MaxOutputS are full, marked as
//     excerpts. A longer one without clips has no annotated video.
//   - The sheet has the MaxTiles surest clips that the annotated video shows.
//
// # Guarantees
//
//   - The video is H.264, yuv420p, at most 960 pixels wide, without sound, at most 30
//     pictures per second, and can be played while it is loaded.
//   - Memory is that of a few pictures, however long the video; time is bounded by the
//     context, and by a deadline of the Studio's own.
//   - Nothing stays of a try that failed: a Studio puts both files away, or none.
//   - What Plan says before anything is drawn holds, but for a video that has fewer
//     pictures than its length promises.
//   - Whoever opens a file that is still drawn waits at a Gate: at most PatienceS, and at
//     most MaxWaiting at once.
package artifact
