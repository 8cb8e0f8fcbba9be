// Package wire holds the generated messages and stubs of the Open Inference Protocol v2
// over gRPC (KServe, open_inference_grpc.proto; Triton's ModelConfig).
//
// It may import protobuf and gRPC. Only package oip uses it. Both .gen.go files are
// generated from inference.proto. `go generate` writes the same bytes on every machine,
// with the versions of the generators in go.mod and without protoc.
package wire

//go:generate go run ./generate inference.proto
