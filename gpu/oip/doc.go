// Package oip is a client of the Open Inference Protocol v2 over HTTP with the binary
// tensor data extension (KServe, "Open Inference Protocol"; Triton, "binary_tensor_data").
//
// The model `detect`: inputs FRAMES (BYTES [N], a JPEG each), TERMS (BYTES [K]) and
// WANT_POSE (BOOL [1], only when true); outputs BOXES (FP32 [M,4], x1 y1 x2 y2 in
// 0..1), SCORES (FP32 [M]), TERM_INDEX and FRAME_INDEX (INT32 [M]), KNOWN_TERMS
// (BOOL [K]); asked for when wanted KEYPOINTS (FP32 [M,17,3], x y score) and COLORS
// (FP32 [M,C]). Outputs may come as raw bytes or as flat JSON lists.
//
// The vocabulary, the colour names (both comma-separated), the weights (`model`) and
// `max_concurrency` are read from `parameters` of the model's metadata, or of
// Triton's model configuration.
//
// It may import gpu, domain/answer and the standard library.
//
// Guarantees: a response is checked before it is believed (names, types, shapes,
// ranges, indices), so no server can make the program panic or report what cannot be;
// bodies are bounded; every call has a deadline. HTTP statuses map to errors so:
//
//	no connection, no answer in time, 3xx, 404, 408, 429, 502, 503, 504  UnavailableError
//	every other status but 200, and an answer that cannot be true         InferenceError
package oip
