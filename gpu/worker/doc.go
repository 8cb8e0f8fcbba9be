// Package worker runs the embedded CPU engine: a Node child process (src/) that
// serves the Open Inference Protocol on a free loopback port.
//
// It may import gpu, gpu/oip, the standard library, and nothing else of the project.
//
// States of the child, and what a caller of Engine sees:
//
//	starting   spawned, models loading    Ready fails, Detect and Info wait
//	serving    announced its port         all work
//	backing    ended, next start is due   Ready fails, Detect and Info wait
//	closed     Close was called           all fail
//
// Guarantees:
//   - The child dies with this process: its standard input closes, and the kernel
//     signals it, even when this process is killed.
//   - A child that ends is started again, after 100 ms that double up to 10 s while
//     starts keep failing. Requests it was working on fail with *gpu.UnavailableError.
//   - A child that lets a request run into its deadline, or is silent for three
//     heartbeats, is taken for hung, killed and replaced.
//   - The child is given no environment but PATH, so no secret of the service.
//
// A frame is looked at once, whole. Four overlapping tiles besides it, in eight frames of
// real clips with small or half hidden things, moved the best scores by -.1 to +.1, cut
// boxes in two at their borders and mended no wrong count, for five times the work.
//
// The sources are read from the repository's gpu/worker folder, with its node_modules
// (`npm ci --ignore-scripts`), rather than embedded: 130 MB of models and runtime
// would have to be unpacked at every upgrade, and the program is run from its checkout.
package worker
