package oip_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vqa/domain/evidence"
	"vqa/gpu"
	"vqa/gpu/oip"
	"vqa/gpu/oip/wire"
)

// grpcServer is a server with the calls that a test sets. Calls left nil are unimplemented.
type grpcServer struct {
	wire.UnimplementedGRPCInferenceServiceServer
	infer    func(context.Context, *wire.ModelInferRequest) (*wire.ModelInferResponse, error)
	server   bool
	model    bool
	metadata *wire.ModelMetadataResponse
	config   map[string]*wire.ModelParameter
}

func (s *grpcServer) ModelInfer(ctx context.Context, in *wire.ModelInferRequest) (*wire.ModelInferResponse, error) {
	return s.infer(ctx, in)
}

func (s *grpcServer) ServerReady(context.Context, *wire.ServerReadyRequest) (*wire.ServerReadyResponse, error) {
	return &wire.ServerReadyResponse{Ready: s.server}, nil
}

func (s *grpcServer) ModelReady(_ context.Context, in *wire.ModelReadyRequest) (*wire.ModelReadyResponse, error) {
	return &wire.ModelReadyResponse{Ready: s.model && in.GetName() == "detect"}, nil
}

func (s *grpcServer) ModelMetadata(context.Context, *wire.ModelMetadataRequest) (*wire.ModelMetadataResponse, error) {
	return s.metadata, nil
}

func (s *grpcServer) ModelConfig(ctx context.Context, in *wire.ModelConfigRequest) (*wire.ModelConfigResponse, error) {
	if s.config == nil {
		return s.UnimplementedGRPCInferenceServiceServer.ModelConfig(ctx, in)
	}
	return &wire.ModelConfigResponse{Config: &wire.ModelConfig{Parameters: s.config}}, nil
}

// serveGRPC starts a server and a client of it.
func serveGRPC(t *testing.T, opts oip.Options, s *grpcServer) *oip.GRPCClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	wire.RegisterGRPCInferenceServiceServer(server, s)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); require.NoError(t, <-done) })
	c, err := oip.NewGRPC("grpc://"+listener.Addr().String(), opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// raw makes a response of raw contents.
func raw(outputs []output) *wire.ModelInferResponse {
	resp := &wire.ModelInferResponse{}
	for _, o := range outputs {
		tensor := &wire.ModelInferResponse_InferOutputTensor{Name: o.Name, Datatype: o.Datatype}
		for _, n := range o.Shape {
			tensor.Shape = append(tensor.Shape, int64(n))
		}
		resp.Outputs = append(resp.Outputs, tensor)
		resp.RawOutputContents = append(resp.RawOutputContents, o.raw)
	}
	return resp
}

func inferring(resp *wire.ModelInferResponse) *grpcServer {
	return &grpcServer{infer: func(context.Context, *wire.ModelInferRequest) (*wire.ModelInferResponse, error) { return resp, nil }}
}

func TestGRPCDetect(t *testing.T) {
	t.Parallel()
	requests := make(chan *wire.ModelInferRequest, 1)
	c := serveGRPC(t, oip.Options{}, &grpcServer{infer: func(_ context.Context, in *wire.ModelInferRequest) (*wire.ModelInferResponse, error) {
		requests <- in
		return raw(append(good(), floats("KEYPOINTS", []int{2, 17, 3}, make([]float32, 102)...))), nil
	}})
	req := request()
	req.WantPose, req.WantRotations = true, true
	resp, err := c.Detect(t.Context(), req)
	require.NoError(t, err)
	want := gpu.Response{Known: []bool{true, true}, Frames: [][]evidence.Detection{
		{{Term: 0, Score: 0.25, Box: evidence.Box{X2: 1, Y2: 1}}},
		{{Term: 1, Score: 0.9, Box: evidence.Box{X1: 0.1, Y1: 0.2, X2: 0.3, Y2: 0.4}}},
	}}
	require.Empty(t, cmp.Diff(want, resp, approximately))

	got := <-requests
	require.Equal(t, "detect", got.GetModelName())
	var inputs, outputs []string
	for _, in := range got.GetInputs() {
		inputs = append(inputs, in.GetName()+" "+in.GetDatatype())
	}
	for _, out := range got.GetOutputs() {
		outputs = append(outputs, out.GetName())
	}
	require.Equal(t, []string{"FRAMES BYTES", "TERMS BYTES", "WANT_POSE BOOL", "WANT_ROTATIONS BOOL"}, inputs)
	require.Equal(t, []string{"BOXES", "SCORES", "TERM_INDEX", "FRAME_INDEX", "KNOWN_TERMS", "KEYPOINTS"}, outputs)
	require.Equal(t, []int64{2}, got.GetInputs()[0].GetShape())
	require.Equal(t, []string{"\x06\x00\x00\x00jpeg a\x07\x00\x00\x00jpeg bb", "\x03\x00\x00\x00dog\x03\x00\x00\x00cat", "\x01", "\x01"}, texts(got.GetRawInputContents()))
}

func texts(raw [][]byte) (all []string) {
	for _, b := range raw {
		all = append(all, string(b))
	}
	return all
}

func TestGRPCDetectReadsTypedContents(t *testing.T) {
	t.Parallel()
	resp := &wire.ModelInferResponse{Outputs: []*wire.ModelInferResponse_InferOutputTensor{
		{Name: "BOXES", Datatype: "FP32", Shape: []int64{1, 4}, Contents: &wire.InferTensorContents{Fp32Contents: []float32{0.1, 0.2, 0.3, 0.4}}},
		{Name: "SCORES", Datatype: "FP32", Shape: []int64{1}, Contents: &wire.InferTensorContents{Fp32Contents: []float32{0.5}}},
		{Name: "TERM_INDEX", Datatype: "INT32", Shape: []int64{1}, Contents: &wire.InferTensorContents{IntContents: []int32{0}}},
		{Name: "FRAME_INDEX", Datatype: "INT32", Shape: []int64{1}, Contents: &wire.InferTensorContents{IntContents: []int32{0}}},
		{Name: "KNOWN_TERMS", Datatype: "BOOL", Shape: []int64{2}, Contents: &wire.InferTensorContents{BoolContents: []bool{true, false}}},
		{Name: "NOTES", Datatype: "BYTES", Shape: []int64{1}, Contents: &wire.InferTensorContents{}},
	}}
	got, err := serveGRPC(t, oip.Options{}, inferring(resp)).Detect(t.Context(), request())
	require.NoError(t, err)
	want := gpu.Response{Known: []bool{true, false}, Frames: [][]evidence.Detection{
		{{Term: 0, Score: 0.5, Box: evidence.Box{X1: 0.1, Y1: 0.2, X2: 0.3, Y2: 0.4}}}, nil,
	}}
	require.Empty(t, cmp.Diff(want, got, approximately))
}

func TestGRPCDetectRefusesInvalidResponses(t *testing.T) {
	t.Parallel()
	alter := func(change func(*wire.ModelInferResponse)) *wire.ModelInferResponse {
		resp := raw(good())
		change(resp)
		return resp
	}
	cases := map[string]*wire.ModelInferResponse{
		"nothing":                       {},
		"a score over 1":                raw([]output{good()[0], floats("SCORES", []int{2}, 1.5, 0.2), good()[2], good()[3], good()[4]}),
		"a frame with an invalid index": raw([]output{good()[0], good()[1], good()[2], ints("FRAME_INDEX", []int{2}, 0, 2), good()[4]}),
		"one raw content is missing": alter(func(r *wire.ModelInferResponse) {
			r.RawOutputContents = r.RawOutputContents[:4]
		}),
		"a raw content too short": alter(func(r *wire.ModelInferResponse) {
			r.RawOutputContents[0] = r.RawOutputContents[0][:31]
		}),
		"contents that do not fit the shape": alter(func(r *wire.ModelInferResponse) { r.RawOutputContents = nil }),
		"a negative shape":                   alter(func(r *wire.ModelInferResponse) { r.Outputs[1].Shape = []int64{-2} }),
		"a huge shape":                       alter(func(r *wire.ModelInferResponse) { r.Outputs[1].Shape = []int64{1 << 40, 1 << 40} }),
		"an output twice":                    alter(func(r *wire.ModelInferResponse) { r.Outputs[1].Name = "BOXES" }),
		"over the limit": alter(func(r *wire.ModelInferResponse) {
			r.Outputs = append(r.Outputs, &wire.ModelInferResponse_InferOutputTensor{Name: strings.Repeat("x", 5000)})
		}),
	}
	for name, resp := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serveGRPC(t, oip.Options{MaxResponseBytes: 4096}, inferring(resp)).Detect(t.Context(), request())
			_, ok := errors.AsType[*gpu.InferenceError](err)
			require.True(t, ok, "%v", err)
		})
	}
}

func TestGRPCStatusesMapToErrors(t *testing.T) {
	t.Parallel()
	for code, unavailable := range map[codes.Code]bool{
		codes.Unavailable: true, codes.DeadlineExceeded: true, codes.Canceled: true, codes.Aborted: true, codes.NotFound: true,
		codes.ResourceExhausted: true, codes.InvalidArgument: false, codes.Internal: false, codes.Unknown: false,
		codes.Unimplemented: false, codes.Unauthenticated: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			c := serveGRPC(t, oip.Options{}, &grpcServer{infer: func(context.Context, *wire.ModelInferRequest) (*wire.ModelInferResponse, error) {
				return nil, status.Error(code, "frame 3 is odd")
			}})
			_, err := c.Detect(t.Context(), request())
			_, isUnavailable := errors.AsType[*gpu.UnavailableError](err)
			_, isInference := errors.AsType[*gpu.InferenceError](err)
			require.Equal(t, unavailable, isUnavailable, "%v", err)
			require.Equal(t, !unavailable, isInference, "%v", err)
			require.Equal(t, code == codes.ResourceExhausted, errors.Is(err, gpu.ErrSaturated))
			require.ErrorContains(t, err, "frame 3 is odd")
		})
	}
}

func TestGRPCSlowServer(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	hang := &grpcServer{infer: func(ctx context.Context, _ *wire.ModelInferRequest) (*wire.ModelInferResponse, error) {
		arrived <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, err := serveGRPC(t, oip.Options{Timeout: 50 * time.Millisecond}, hang).Detect(t.Context(), request())
	requireUnavailable(t, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-arrived

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err = serveGRPC(t, oip.Options{}, hang).Detect(ctx, request())
	require.ErrorIs(t, err, context.Canceled)
	_, isUnavailable := errors.AsType[*gpu.UnavailableError](err)
	require.False(t, isUnavailable, "the caller went away, not the engine")
}

func TestGRPCReady(t *testing.T) {
	t.Parallel()
	require.NoError(t, serveGRPC(t, oip.Options{}, &grpcServer{server: true, model: true}).Ready(t.Context()))
	requireUnavailable(t, serveGRPC(t, oip.Options{}, &grpcServer{server: true}).Ready(t.Context()))
	requireUnavailable(t, serveGRPC(t, oip.Options{}, &grpcServer{model: true}).Ready(t.Context()))
	requireUnavailable(t, serveGRPC(t, oip.Options{Model: "other"}, &grpcServer{server: true, model: true}).Ready(t.Context()))
}

func TestGRPCInfo(t *testing.T) {
	t.Parallel()
	metadata := &wire.ModelMetadataResponse{Name: "detect", Versions: []string{"1", "2"}}
	got, err := serveGRPC(t, oip.Options{}, &grpcServer{metadata: metadata}).Info(t.Context())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(gpu.Info{Name: "detect", Version: "2", Weights: "detect", Concurrency: 1}, got))

	got, err = serveGRPC(t, oip.Options{}, &grpcServer{metadata: metadata, config: map[string]*wire.ModelParameter{
		"model": {StringValue: "m-512"}, "digest": {StringValue: digest}, "worker": {StringValue: "triton/2"},
		"vocabulary": {StringValue: "dog,cat"}, "max_concurrency": {StringValue: "4"},
	}}).Info(t.Context())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(gpu.Info{Name: "detect", Version: "2", Weights: "m-512", Digest: digest, Worker: "triton/2", Vocabulary: []string{"dog", "cat"}, Concurrency: 4}, got))
}

// TestPoolOfBothProtocols has one server of each protocol. The HTTP server is down.
func TestPoolOfBothProtocols(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone, err := oip.New("http://"+listener.Addr().String(), oip.Options{})
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	s := inferring(raw(good()))
	s.server, s.model, s.metadata = true, true, &wire.ModelMetadataResponse{Name: "detect"}
	p := oip.NewPool([]oip.Server{
		{Name: "http", Engine: gone},
		{Name: "grpc", Engine: serveGRPC(t, oip.Options{}, s)},
	}, oip.PoolOptions{Log: slog.New(slog.DiscardHandler)})
	defer p.Close()
	require.NoError(t, p.Check(t.Context()))
	require.NoError(t, p.Ready(t.Context()))
	for range 5 {
		resp, err := p.Detect(t.Context(), request())
		require.NoError(t, err)
		require.Equal(t, []bool{true, true}, resp.Known)
	}
}
