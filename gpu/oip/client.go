package oip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vqa/gpu"
)

// Defaults of Options.
const (
	defaultModel            = "detect"
	defaultTimeout          = time.Minute
	defaultMaxResponseBytes = 16 << 20
)

// errTimeout is the cause when the client stopped waiting.
var errTimeout = fmt.Errorf("the engine did not answer in time: %w", context.DeadlineExceeded)

// Options of a Client; the zero value of each field takes its default.
type Options struct {
	// Model is the model's name on the server.
	Model string
	// Timeout bounds one call, also when the caller's context allows more.
	Timeout time.Duration
	// MaxResponseBytes bounds the body of a response.
	MaxResponseBytes int64
	// Dial connects to a server over HTTP; by default it connects to the host of the URL over TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.Model == "" {
		o.Model = defaultModel
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = defaultMaxResponseBytes
	}
	return o
}

// Client is a gpu.Engine that asks a server over HTTP.
type Client struct {
	base string // without a slash at its end
	opts Options
	http *http.Client
}

var _ gpu.Engine = (*Client)(nil)

// New returns a client of the server at a URL, which is http or https with a host. It may have
// a user and password, and a path before /v2. It returns an error for any other URL.
func New(rawURL string, opts Options) (*Client, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("inference URL: malformed")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("inference URL %s: must be http(s)://host[:port][/path]", u.Redacted())
	}
	return &Client{base: strings.TrimRight(u.String(), "/"), opts: opts.withDefaults(), http: &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment, // none for localhost
			DialContext:         opts.Dial,
			MaxIdleConnsPerHost: 32,
			MaxConnsPerHost:     64,
			// Node closes idle connections after 5 s: close them first.
			IdleConnTimeout:        4 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections. The client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Detect implements gpu.Engine.
func (c *Client) Detect(ctx context.Context, req gpu.Request) (gpu.Response, error) {
	if err := checkRequest(req); err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: err}
	}
	body, headerLength, err := encodeRequest(req)
	if err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: err}
	}
	header := http.Header{
		"Content-Type":     {"application/octet-stream"},
		headerLengthHeader: {fmt.Sprint(headerLength)},
		// This header is never sent. It lets net/http repeat the request when an idle
		// connection turns out to be closed, because inference has no side effects.
		"Idempotency-Key": nil,
	}
	answer, err := c.call(ctx, http.MethodPost, c.path("/infer"), header, body)
	if err != nil {
		return gpu.Response{}, err
	}
	resp, err := decodeResponse(answer.header.Get(headerLengthHeader), answer.body, req)
	if err != nil {
		return gpu.Response{}, &gpu.InferenceError{Err: fmt.Errorf("invalid response of the engine: %w", err)}
	}
	return resp, nil
}

// Ready implements gpu.Engine: the server and its model must both be ready.
func (c *Client) Ready(ctx context.Context) error {
	for _, path := range []string{"/v2/health/ready", c.path("/ready")} {
		if _, err := c.call(ctx, http.MethodGet, path, nil, nil); err != nil {
			if _, refused := errors.AsType[*gpu.InferenceError](err); refused {
				return &gpu.UnavailableError{Err: err}
			}
			return err
		}
	}
	return nil
}

// Info implements gpu.Engine.
func (c *Client) Info(ctx context.Context) (gpu.Info, error) {
	answer, err := c.call(ctx, http.MethodGet, c.path(""), nil, nil)
	if err != nil {
		return gpu.Info{}, err
	}
	meta, err := decodeMetadata(answer.body)
	if err != nil {
		return gpu.Info{}, &gpu.InferenceError{Err: fmt.Errorf("model metadata: %w", err)}
	}
	if meta.Parameters == nil {
		// Triton keeps a model's parameters in its configuration. A server without that
		// extension has none.
		if config, err := c.call(ctx, http.MethodGet, c.path("/config"), nil, nil); err == nil {
			meta.Parameters = decodeConfig(config.body)
		} else if ctx.Err() != nil {
			return gpu.Info{}, err
		}
	}
	return meta.info(c.opts.Model), nil
}

func (c *Client) path(suffix string) string {
	return "/v2/models/" + url.PathEscape(c.opts.Model) + suffix
}

type reply struct {
	header http.Header
	body   []byte
}

// call sends one request and returns the response with status 200. Every error is of gpu's
// kinds.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, body []byte) (reply, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, errTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, &gpu.UnavailableError{Err: err}
	}
	if header != nil {
		req.Header = header
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{}, unavailable(ctx, limited, err)
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(res.Body, c.opts.MaxResponseBytes+1))
	switch {
	case err != nil:
		return reply{}, unavailable(ctx, limited, fmt.Errorf("read the response: %w", err))
	case res.StatusCode != http.StatusOK:
		return reply{}, refusal(res.StatusCode, content)
	case int64(len(content)) > c.opts.MaxResponseBytes:
		return reply{}, &gpu.InferenceError{Err: fmt.Errorf("the response of the engine is over %d bytes", c.opts.MaxResponseBytes)}
	}
	return reply{header: res.Header, body: content}, nil
}

// unavailable distinguishes a caller that left from an engine that does not answer.
func unavailable(caller, limited context.Context, err error) error {
	if caller.Err() != nil {
		return fmt.Errorf("inference: %w", context.Cause(caller))
	}
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	return &gpu.UnavailableError{Err: err}
}

// refusal turns a status other than 200 into an error with the message of the server.
func refusal(status int, body []byte) error {
	err := fmt.Errorf("status %d: %s", status, serverMessage(body))
	switch status {
	case http.StatusTooManyRequests:
		return &gpu.UnavailableError{Err: fmt.Errorf("%w: %w", gpu.ErrSaturated, err)}
	case http.StatusNotFound, http.StatusRequestTimeout,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &gpu.UnavailableError{Err: err}
	}
	if status < 400 {
		return &gpu.UnavailableError{Err: err}
	}
	return &gpu.InferenceError{Err: err}
}

// serverMessage returns the text of the protocol's {"error": text}, else the body. It is
// shortened, because it goes to logs.
func serverMessage(body []byte) string {
	const most = 300
	var message struct {
		Error string `json:"error"`
	}
	text := string(body)
	if json.Unmarshal(body, &message) == nil && message.Error != "" {
		text = message.Error
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%q", text)
}
