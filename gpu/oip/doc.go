// Package oip is a client of the Open Inference Protocol v2 (KServe, "Open Inference
// Protocol"), over HTTP with the binary tensor data extension (Triton,
// "binary_tensor_data") and over gRPC with raw contents, for one server or several.
//
// The model `detect`: inputs FRAMES (BYTES [N], a JPEG each), TERMS (BYTES [K]) and
// WANT_POSE (BOOL [1], only when true); outputs BOXES (FP32 [M,4], x1 y1 x2 y2 in
// 0..1), SCORES (FP32 [M]), TERM_INDEX and FRAME_INDEX (INT32 [M]), KNOWN_TERMS
// (BOOL [K]); asked for when wanted KEYPOINTS (FP32 [M,17,3], x y score), COLORS
// (FP32 [M,C]) and SHADES (UINT8 [N,32,32], the brightness of the parts of each frame, 0 to
// 31), which a server has whose metadata list it. Outputs may come as raw bytes, as flat
// JSON lists or as typed contents.
//
// The vocabulary, the color names (both comma-separated), the weights (`model`) with
// their SHA-256 (`digest`), the serving program (`worker`) and `max_concurrency` are read from `parameters` of the model's metadata (HTTP), or of
// Triton's model configuration (HTTP and gRPC).
//
// It may import gpu, domain/answer, gRPC with package wire, and the standard library.
//
// Guarantees: a response is checked before it is believed (names, types, shapes,
// ranges, indices), so no server can make the program panic or report what cannot be;
// bodies are bounded; every call has a deadline. Statuses map to errors so:
//
//	no connection, no answer in time, 3xx, 404, 408, 502, 503, 504         UnavailableError
//	UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, ABORTED, NOT_FOUND           UnavailableError
//	429, RESOURCE_EXHAUSTED             UnavailableError that wraps gpu.ErrSaturated
//	every other status but 200 or OK, and an answer that cannot be true     InferenceError
//
// # Several servers
//
// A Pool sends each call to the server that uses the smallest share of its limit (twice
// the concurrency that it names, at least 4 calls); equals take turns. A call that finds
// all full waits, at most Wait, in a bounded queue. A call that ends in an
// UnavailableError is repeated on another server, on 3 in all; an InferenceError never.
// Each server is in one of these states:
//
//	from     on                                                       to
//	out      its pause is over, or nobody is in and a call needs one   probing
//	probing  it is ready and serves what those in use serve            in
//	probing  anything else                                             out
//	in       UnavailableError, but for want of room                    out
//
// The first pause is none, the next 1 s, doubling to 30 s until the server has done work.
// A server is asked what it serves whenever it comes in and with every Info, so weights
// are never mixed. A pool of one server behaves as its client does.
package oip
