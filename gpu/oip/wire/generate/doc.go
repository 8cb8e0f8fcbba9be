// Command generate compiles a .proto file of the working directory and has the
// generators of go.mod (protoc-gen-go, protoc-gen-go-grpc) write Go code of it. It does
// the part of protoc, so that nobody must install one; it imports no package of vqa.
package main
