// Package wire holds the generated messages and stubs of the Open Inference Protocol v2
// over gRPC (KServe, open_inference_grpc.proto; Triton's ModelConfig).
//
// It may import protobuf and gRPC; nobody but package oip needs it. Both .gen.go files
// follow from inference.proto: `go generate` writes the same bytes on every machine, with
// the versions of the generators in go.mod and no protoc.
package wire

//go:generate go run ./generate inference.proto
