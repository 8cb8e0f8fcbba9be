package oip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"vqa/gpu"
	"vqa/gpu/oip/wire"
)

// GRPCClient is a gpu.Engine that asks a server over gRPC.
type GRPCClient struct {
	opts Options
	conn *grpc.ClientConn
	stub wire.GRPCInferenceServiceClient
}

var _ gpu.Engine = (*GRPCClient)(nil)

// NewGRPC returns a client of the server at grpc://host:port, or grpcs://host:port for TLS.
// It connects with the first call. It returns an error for any other URL.
func NewGRPC(rawURL string, opts Options) (*GRPCClient, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("inference URL: malformed")
	}
	if (u.Scheme != "grpc" && u.Scheme != "grpcs") || u.Hostname() == "" || u.Port() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("inference URL %s: must be grpc(s)://host:port", u.Redacted())
	}
	transport := insecure.NewCredentials()
	if u.Scheme == "grpcs" {
		transport = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	c := &GRPCClient{opts: opts.withDefaults()}
	// A server that is back should be noticed within seconds.
	reconnect := backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 5 * time.Second}
	c.conn, err = grpc.NewClient("dns:///"+u.Host,
		grpc.WithTransportCredentials(transport),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(c.opts.MaxResponseBytes))),
		// The pool retries.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, fmt.Errorf("inference URL %s: %w", u.Redacted(), err)
	}
	c.stub = wire.NewGRPCInferenceServiceClient(c.conn)
	return c, nil
}

// Close ends the connection. Calls in flight fail.
func (c *GRPCClient) Close() { _ = c.conn.Close() }

// Detect implements gpu.Engine.
func (c *GRPCClient) Detect(ctx context.Context, req gpu.Request) (gpu.Response, error) {
	if err := checkRequest(req); err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: err}
	}
	message, err := encodeInfer(c.opts.Model, req)
	if err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: err}
	}
	reply, err := invoke(ctx, c, c.stub.ModelInfer, message)
	if err != nil {
		return gpu.Response{}, err
	}
	outputs, err := decodeInfer(reply)
	if err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: fmt.Errorf("invalid response of the engine: %w", err)}
	}
	resp, err := outputs.response(req)
	if err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: fmt.Errorf("invalid response of the engine: %w", err)}
	}
	return resp, nil
}

// Ready implements gpu.Engine: the server and its model must both be ready.
func (c *GRPCClient) Ready(ctx context.Context) error {
	server, err := invoke(ctx, c, c.stub.ServerReady, &wire.ServerReadyRequest{})
	if err != nil {
		return asUnavailable(err)
	}
	model, err := invoke(ctx, c, c.stub.ModelReady, &wire.ModelReadyRequest{Name: c.opts.Model})
	if err != nil {
		return asUnavailable(err)
	}
	if !server.GetReady() || !model.GetReady() {
		return &gpu.UnavailableError{Err: fmt.Errorf("not ready: server %t, model %t", server.GetReady(), model.GetReady())}
	}
	return nil
}

// asUnavailable turns a refused health check into an *UnavailableError.
func asUnavailable(err error) error {
	if _, refused := errors.AsType[*gpu.InferenceError](err); refused {
		return &gpu.UnavailableError{Err: err}
	}
	return err
}

// Info implements gpu.Engine. Over gRPC, the parameters of a model are only in Triton's
// model configuration: the protocol's metadata have no field for them.
func (c *GRPCClient) Info(ctx context.Context) (gpu.Info, error) {
	reply, err := invoke(ctx, c, c.stub.ModelMetadata, &wire.ModelMetadataRequest{Name: c.opts.Model})
	if err != nil {
		return gpu.Info{}, err
	}
	meta := metadata{Name: reply.GetName(), Versions: reply.GetVersions()}
	for _, i := range reply.GetInputs() {
		meta.Inputs = append(meta.Inputs, named{i.GetName()})
	}
	for _, o := range reply.GetOutputs() {
		meta.Outputs = append(meta.Outputs, named{o.GetName()})
	}
	config, err := invoke(ctx, c, c.stub.ModelConfig, &wire.ModelConfigRequest{Name: c.opts.Model})
	if _, refused := errors.AsType[*gpu.InferenceError](err); err != nil && !refused {
		return gpu.Info{}, err
	}
	if parameters := config.GetConfig().GetParameters(); len(parameters) > 0 {
		meta.Parameters = make(map[string]any, len(parameters))
		for name, parameter := range parameters {
			meta.Parameters[name] = parameter.GetStringValue()
		}
	}
	return meta.info(c.opts.Model), nil
}

// invoke makes one call within the client's deadline. Every error is of gpu's kinds.
func invoke[In, Out any](ctx context.Context, c *GRPCClient, method func(context.Context, In, ...grpc.CallOption) (Out, error), in In) (Out, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, errTimeout)
	defer cancel()
	out, err := method(limited, in)
	if err == nil {
		return out, nil
	}
	// The server knows the deadline, and may report it a moment before our clock does.
	if end, _ := limited.Deadline(); status.Code(err) == codes.DeadlineExceeded && time.Until(end) < 100*time.Millisecond {
		<-limited.Done()
	}
	if ctx.Err() != nil || limited.Err() != nil {
		return out, unavailable(ctx, limited, err)
	}
	return out, statusError(err)
}

// statusError maps a gRPC status as refusal maps an HTTP status.
func statusError(err error) error {
	s := status.Convert(err)
	text := s.Message()
	said := fmt.Errorf("%s: %s", s.Code(), serverMessage([]byte(text)))
	switch s.Code() {
	case codes.ResourceExhausted:
		// The library uses the same code for a message over a size limit. Such a request
		// never succeeds.
		if strings.Contains(text, "larger than max") {
			return &gpu.InferenceError{Err: said}
		}
		return &gpu.UnavailableError{Err: fmt.Errorf("%w: %w", gpu.ErrSaturated, said)}
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.NotFound:
		return &gpu.UnavailableError{Err: said}
	default:
		return &gpu.InferenceError{Err: said}
	}
}
