// Command generate compiles a .proto file of the working directory and runs the generators
// of go.mod (protoc-gen-go, protoc-gen-go-grpc) on it. It replaces protoc, so that protoc
// need not be installed. It imports no package of vqa.
package main
