package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shopspring/decimal"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

const (
	// maxBody is the largest body in bytes. The arguments of a call are the body of its operation, which
	// has at most 1 MiB.
	maxBody = 1 << 20
	// maxLife bounds a request. It is longer than each wait of a message.
	maxLife = 3 * time.Minute
	// listLife is how long a client may cache the list of tools.
	listLife = 5 * time.Minute
)

// Edge checks requests and carries out operations.
type Edge interface {
	http.Handler
	// SignIn authenticates a request to the endpoint. The context of the returned request carries the
	// caller.
	SignIn(r *http.Request) (*http.Request, error)
	// CountMessage counts a message that is not a call of an operation. Error: rate_limit_exceeded.
	CountMessage(ctx context.Context) error
}

// Options configure the endpoint. A field is required unless its comment says otherwise.
type Options struct {
	Edge Edge
	// PublicURL is the address of the service for clients, without a trailing slash.
	PublicURL string
	// Version is the version of the API.
	Version string
	// PricePerSecondCents is the price of one billed second, in US cents.
	PricePerSecondCents decimal.Decimal
	// BatchDiscountPct is the discount of the later prompts of a batch.
	BatchDiscountPct int
	// Origins are the origins of other sites whose pages may call the endpoint, in lower case. It may be empty.
	Origins []string
	Log     *slog.Logger
}

// endpoint serves /mcp. It implements http.Handler.
type endpoint struct {
	Options
	guard guard
	tools map[string]*tool
	// sdk answers with an event stream, and plain with JSON. They are the same server.
	sdk, plain http.Handler
}

// New returns the handler of /mcp.
func New(o Options) http.Handler {
	s := &endpoint{Options: o, guard: newGuard(o.PublicURL, o.Origins), tools: map[string]*tool{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "vqa", Title: "Questions about video", Version: o.Version, WebsiteURL: o.PublicURL}, &sdk.ServerOptions{
		Instructions: s.instructions(),
		// Neither list changes while the server runs, so no client needs to subscribe.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.CacheScope, c.TTLMs = "private", int(listLife.Milliseconds())
		},
	})
	for _, t := range s.table() {
		s.tools[t.name] = t
		server.AddTool(t.described(), s.handler(t))
	}
	server.AddPrompt(askPrompt, getAskPrompt)
	server.AddReceivingMiddleware(s.receive)
	if err := addUnknown(server); err != nil {
		panic(err) // its name is that of a method of the protocol
	}
	transport := func(asJSON bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, JSONResponse: asJSON,
			// guard checks the host and knows the public address.
			DisableLocalhostProtection: true,
		})
	}
	s.sdk, s.plain = transport(false), transport(true)
	return s
}

// incoming is the HTTP request that carries a message.
type incoming struct {
	*http.Request
	requestID string
	// livemode is the mode of the credential. ofAgent is true for an access token, which a person allowed, and false
	// for an API key.
	livemode, ofAgent bool
}

type incomingKey struct{}

// ServeHTTP implements http.Handler.
func (s *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.guard.check(r); err != nil {
		edge.WriteError(w, r, err)
		return
	}
	s.guard.allow(w.Header(), r)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	signed, err := s.Edge.SignIn(r)
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(signed.Context(), maxLife)
	defer cancel()
	x := edge.ExchangeOf(ctx)
	in := &incoming{Request: signed.WithContext(ctx), requestID: x.RequestID, livemode: x.Caller.Livemode, ofAgent: x.Caller.GrantID != ""}
	got, err := readMessages(in.Request)
	if err == nil && got.calls == 0 && got.messages <= maxMessages {
		// No call of the body is counted.
		err = s.Edge.CountMessage(ctx)
	}
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	out := &responding{ResponseWriter: w, received: got}
	defer out.finish()
	switch {
	case got.malformed:
		http.Error(out, "The body is not valid JSON.", http.StatusBadRequest)
		return
	case got.messages > maxMessages:
		http.Error(out, fmt.Sprintf("A body may have at most %d messages. Send the others in another request.", maxMessages), http.StatusBadRequest)
		return
	case got.ignored:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	// The SDK may start a call after the handler has returned, so calls get the request by the context.
	message := in.WithContext(context.WithValue(ctx, incomingKey{}, in))
	message.Header = message.Header.Clone()
	handler := s.plain
	if acceptsStreams(message.Header) {
		handler = s.sdk
		w.Header().Set("X-Accel-Buffering", "no") // turns off buffering in nginx
	}
	message.Header.Set("Accept", "application/json, text/event-stream") // the SDK refuses clients that accept only one of them
	handler.ServeHTTP(out, message)
}

// receive counts a message, and turns a panic into an error: the SDK runs calls in goroutines of its own,
// where a panic would end the process.
func (s *endpoint) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (result sdk.Result, err error) {
		in, ok := ctx.Value(incomingKey{}).(*incoming)
		if !ok {
			return nil, refusal(fault.New(fault.InternalError, ""), "")
		}
		defer func() {
			if v := recover(); v != nil {
				s.Log.ErrorContext(ctx, "an agent tool panicked", "method", method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				result, err = nil, refusal(fault.New(fault.InternalError, ""), in.requestID)
			}
		}()
		// An older client that disconnects does not cancel the context of the SDK.
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(in.Context(), func() { cancel(context.Cause(in.Context())) })()
		if !s.counted(method, request) {
			if err := s.Edge.CountMessage(ctx); err != nil {
				return nil, refusal(fault.Of(err), in.requestID)
			}
		}
		return next(ctx, method, request)
	}
}

// counted reports whether a message is counted elsewhere: a call of a tool by the edge, as the request of
// its operation, and a notification with its body.
func (s *endpoint) counted(method string, request sdk.Request) bool {
	if method != "tools/call" {
		return strings.HasPrefix(method, "notifications/")
	}
	call, ok := request.(*sdk.CallToolRequest)
	return ok && call.Params != nil && s.tools[call.Params.Name] != nil
}

// price returns an amount of US dollars as text without trailing zeros.
func (s *endpoint) price(seconds int64) string {
	return s.PricePerSecondCents.Mul(decimal.NewFromInt(seconds)).Shift(-2).String()
}

// instructions are the first text about the service that a model reads: at most 150 words.
func (s *endpoint) instructions() string {
	return fmt.Sprintf("This service answers questions about video in plain English: whether something is visible, how many, when and where. "+
		"It does not answer questions about sound, the identity of people or text in the picture.\n"+
		"1. list_videos finds a video. create_video_from_url registers a public https URL of an MP4 or QuickTime file; call get_video until its status is ready.\n"+
		"2. validate_analysis checks a question and estimates its cost, free of charge.\n"+
		"3. create_analysis asks one question, create_analysis_batch 2 to 10 at a discount. Send an idempotency_key, so that a repeated call costs nothing.\n"+
		"4. wait_for_analysis waits up to 45 seconds. While retry is not null, call it again.\n"+
		"One credit is one second of video and costs $%s. Failed and canceled analyses are free. "+
		"With a test key everything is free: get_test_fixture returns a video and a question to try. An answer with livemode false says nothing about a real video.", s.price(1))
}
