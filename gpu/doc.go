// Package gpu is the contract between the service and whatever looks at pictures:
// frames and terms go in, detections come out. What the detections mean is not its
// business; domain/answer decides that.
//
// An Engine is any Open Inference Protocol v2 server that offers the model `detect`
// (package oip is the client), be it the embedded CPU worker (package worker), Triton
// or KServe. Package frames makes the frames, package fixture is an engine for tests.
//
// It may import domain/answer and the standard library; packages below it may import
// each other as oip <- worker. None of them knows of billing, webhooks or SQL.
//
// Guarantees of every Engine: it is safe for concurrent use; the same request gives
// the same response; a response has one slice per frame and one Known per term, every
// value within its range, so that a caller need not check; a failure is either an
// *UnavailableError (try again later, here or elsewhere) or an *InferenceError (this
// input will fail again), unless the caller's own context ended first.
package gpu
