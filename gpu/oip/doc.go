// Package oip is a client of the Open Inference Protocol v2 (KServe, "Open Inference
// Protocol"), for one server or several. It speaks HTTP with the binary tensor data
// extension (Triton, "binary_tensor_data") and gRPC with raw contents.
//
// The model `detect` has these inputs: FRAMES (BYTES [N], a file each), TERMS (BYTES [K]),
// WANT_POSE and WANT_ROTATIONS (BOOL [1], only when true). Its outputs are BOXES (FP32 [M,4], x1 y1 x2 y2
// in 0..1), SCORES (FP32 [M]), TERM_INDEX and FRAME_INDEX (INT32 [M]) and KNOWN_TERMS (BOOL
// [K]). These outputs are requested when needed: KEYPOINTS (FP32 [M,17,3], x y score),
// COLORS (FP32 [M,C]) and SHADES (UINT8 [N,32,32], the brightness of the parts of each
// frame, 0 to 31). A server has SHADES, and WANT_ROTATIONS, when its metadata list it. Outputs may come as raw
// bytes, as flat JSON lists or as typed contents.
//
// These parameters of the model are read: the vocabulary and the color names (both
// comma-separated), the weights (`model`) with their SHA-256 (`digest`) and `license`, the serving
// program (`worker`), `max_concurrency` and the `formats` of frames ("jpeg,ppm"; by default only JPEG).
// They come from the model's metadata (HTTP), or
// from Triton's model configuration (HTTP and gRPC).
//
// It may import gpu, domain/evidence, gRPC with package wire, and the standard library.
//
// Guarantees: names, types, shapes, ranges and indices of a response are checked, so an
// invalid response is an error and never a panic. Bodies are bounded; every call has a
// deadline. Statuses map to errors like this:
//
//	no connection, no answer in time, 3xx, 404, 408, 502, 503, 504         UnavailableError
//	UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, ABORTED, NOT_FOUND           UnavailableError
//	429, RESOURCE_EXHAUSTED             UnavailableError that wraps gpu.ErrSaturated
//	every status other than these, 200 and OK, and an invalid response      InferenceError
//
// # Several servers
//
// A Pool sends each call to the server that uses the smallest share of its limit. The limit
// is twice the concurrency that the server reports, at least 4 calls. Servers with equal
// shares take turns. When all servers are full, a call waits in a bounded queue, at most
// Wait. A call that ends in an UnavailableError is repeated on another server, on 3 in all.
// A call that ends in an InferenceError is not repeated. Each server is in one of these
// states:
//
//	from     on                                                       to
//	out      its pause is over, or no server is in and a call needs   probing
//	         one
//	probing  it is ready and serves the same as the servers in use    in
//	probing  anything else                                             out
//	in       UnavailableError other than ErrSaturated                  out
//
// There is no pause after the first failure. The next is 1 s, and pauses double up to 30 s
// until the server has done work. A server is asked for its model whenever it comes in and
// with every Info, so weights are never mixed. A pool of one server behaves as its client
// does.
package oip
