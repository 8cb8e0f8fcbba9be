// Package worker runs the embedded CPU engine: a Node child process (src/) that serves the
// Open Inference Protocol on a Unix socket.
//
// It may import gpu, gpu/oip, golang.org/x/sys and the standard library, and nothing else of the
// project.
//
// States of the child, and their effect on callers of Engine:
//
//	starting   spawned, models loading    Ready fails, Detect and Info wait
//	serving    printed that it serves     all work
//	backing    ended, next start is due   Ready fails, Detect and Info wait
//	closed     Close was called           all fail
//
// Guarantees:
//   - The child ends with this process: its standard input closes, and the kernel signals
//     it, even when this process is killed.
//   - A child that ends is started again, after 100 ms. The pause doubles up to 10 s while
//     starts keep failing. Requests in progress fail with *gpu.UnavailableError.
//   - A child that used a minute of each thread for one request, or 15 s without a heartbeat, counts as
//     hung. So does one that took ten times as long by the clock. It is killed and replaced.
//   - The child gets only PATH of the environment, so no secret of the service.
//   - Only this process connects to the child. Each child inherits a socket with mode 0600, whose name
//     is removed before the child starts.
//   - If this process is root, the child has user 61001. If this user cannot read the program, the
//     child may read every file, or, where the kernel refuses that too, it stays root. The log says so.
//
// A frame is examined once, as a whole. Four overlapping tiles in addition were measured on
// eight frames of real clips with small or half hidden objects. They changed the best
// scores by -.1 to +.1, cut boxes in two at their borders and corrected no count, for five
// times the work.
//
// The models run in ONNX Runtime, on one core for each thread. `npm run convert` (convert/) makes
// their files once from those of an npm package, always the same bytes, which src/models.js records.
// Tests compare their outputs with those of the originals.
//
// The sources are read from the repository's gpu/worker folder with its node_modules (`npm
// ci --ignore-scripts`). They are not embedded into the program: 65 MB of models and
// runtime would have to be unpacked at every upgrade, and the program runs from its
// checkout.
package worker
