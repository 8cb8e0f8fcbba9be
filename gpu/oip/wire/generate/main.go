package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FILE.proto")
		os.Exit(2)
	}
	if err := generate(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate writes the output of both generators beside a file.
func generate(ctx context.Context, file string) error {
	compiler := protocompile.Compiler{
		Resolver: &protocompile.SourceResolver{},
		// The generators copy the comments.
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, file)
	if err != nil {
		return fmt.Errorf("compile %s: %w", file, err)
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	for _, tool := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := run(ctx, tool, request); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	return nil
}

// run sends the request to one generator and writes its files, named as generated files are
// in this repository.
func run(ctx context.Context, tool string, request []byte) error {
	cmd := exec.CommandContext(ctx, "go", "tool", tool)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return fmt.Errorf("decode the response: %w", err)
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, f := range response.GetFile() {
		name := strings.TrimSuffix(f.GetName(), ".pb.go") + ".gen.go"
		if err := os.WriteFile(name, []byte(f.GetContent()), 0o644); err != nil { //nolint:gosec // source code, which everybody may read
			return err
		}
	}
	return nil
}
