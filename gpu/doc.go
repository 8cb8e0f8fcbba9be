// Package gpu is the contract between the service and a detector: frames and terms go in,
// detections come out. Package answer decides what the detections mean.
//
// An Engine is any Open Inference Protocol v2 server that offers the model `detect`, such
// as the embedded CPU worker (package worker), the server for GPUs (package
// onnx), Triton or KServe. Package oip is the client.
// Package frames decodes the frames, package lanes shares an engine between live streams and uploads,
// and package fixture is an engine for tests.
//
// It may import domain/evidence and the standard library. Of the packages below it, worker
// may import oip. None of them imports billing, webhooks, SQL or domain/answer.
//
// Guarantees of every Engine: it is safe for concurrent use. The same request gives the
// same response. A response has one slice per frame and one Known per term, with every
// value within its range, so that callers need no checks. A failure is an *UnavailableError
// (try again later, here or elsewhere) or an *InferenceError (this input will fail again),
// unless the caller's own context ended first.
package gpu
