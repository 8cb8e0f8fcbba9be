package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vqa/cmd/vqa/internal/terminal"
)

const (
	// callTimeout bounds one call, without the time that "Prefer: wait" asks the server to wait.
	callTimeout = 90 * time.Second
	// uploadTimeout bounds one upload; the signed URL is valid for the same time.
	uploadTimeout = time.Hour
	// probeTimeout bounds a health check.
	probeTimeout = 2 * time.Second
	// patience bounds the time during which a call is repeated with Retry-After.
	patience = 90 * time.Second
	// maxBody bounds a response, in bytes.
	maxBody = 16 << 20
)

// Client calls the public API. It is safe for concurrent use.
type Client struct {
	// Base is the URL of the server, without a slash at its end.
	Base string
	// Key is the API key; no request carries one when it is empty.
	Key string
	// HTTP sends the requests.
	HTTP *http.Client
	// Busy is called before a call is repeated, with the error and the pause.
	Busy func(why *Error, after time.Duration)
}

// New returns a client of the server at base, without a key.
func New(base string) *Client {
	return &Client{Base: strings.TrimRight(base, "/"), HTTP: &http.Client{}, Busy: func(*Error, time.Duration) {}}
}

// Error is an error response of the API (docs/contract.md#errors), or the error of a failed
// resource.
type Error struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
	// Violations lists everything that is wrong with a request.
	Violations []struct {
		Param   string `json:"param"`
		Message string `json:"message"`
	} `json:"errors"`
	// Details has the raised alarms of a server that is not ready.
	Details struct {
		Alarms []string `json:"alarms"`
	} `json:"details"`
	retryAfter time.Duration
}

// Error returns the code, the message and the field at fault.
func (e *Error) Error() string {
	param := e.Param
	if param == "" && len(e.Violations) > 0 {
		param = e.Violations[0].Param
	}
	text := e.Code + ": " + e.Message
	if param != "" {
		text += " (" + param + ")"
	}
	return terminal.Printable(text)
}

// HasCode reports whether err is an error of the API with one of the codes.
func HasCode(err error, codes ...string) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}

// Unauthorized reports whether the server refused the key.
func Unauthorized(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}

// Healthy reports whether a server of this service answers.
func (c *Client) Healthy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var health struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}
	err := c.Once(ctx, http.MethodGet, "/healthz", nil, nil, &health)
	return err == nil && health.Status == "ok" && health.Checks != nil
}

// Ready reports whether the server can take work.
func (c *Client) Ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return c.Once(ctx, http.MethodGet, "/readyz", nil, nil, nil) == nil
}

// Alarms returns the names of the alarms that the server has raised.
func (c *Client) Alarms(ctx context.Context) ([]string, error) {
	var ready struct {
		Alarms []string `json:"alarms"`
	}
	err := c.Once(ctx, http.MethodGet, "/readyz", nil, nil, &ready)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusServiceUnavailable {
		return e.Details.Alarms, nil
	}
	return ready.Alarms, err
}

// AwaitReady waits until the server can take work, or ctx ends.
func (c *Client) AwaitReady(ctx context.Context) {
	for !c.Ready(ctx) && sleep(ctx, PollEvery) == nil {
	}
}

// CheckKey returns the available credit-seconds if the server accepts the key.
func (c *Client) CheckKey(ctx context.Context) (availableSeconds int64, err error) {
	var credits struct {
		AvailableSeconds int64 `json:"available_seconds"`
	}
	err = c.call(ctx, http.MethodGet, "/v1/credits?limit=1", nil, nil, &credits)
	return credits.AvailableSeconds, err
}

// CreateVideo creates a video for an upload, or one that the server fetches from a URL.
func (c *Client) CreateVideo(ctx context.Context, body map[string]any, idempotencyKey string) (Video, error) {
	var v Video
	err := c.call(ctx, http.MethodPost, "/v1/videos", http.Header{"Idempotency-Key": {idempotencyKey}}, body, &v)
	return v, err
}

// CompleteVideo ends the upload of a video.
func (c *Client) CompleteVideo(ctx context.Context, id string) (Video, error) {
	var v Video
	err := c.call(ctx, http.MethodPost, "/v1/videos/"+url.PathEscape(id)+"/complete", nil, nil, &v)
	return v, err
}

// Video reads a video.
func (c *Client) Video(ctx context.Context, id string) (Video, error) {
	var v Video
	err := c.call(ctx, http.MethodGet, "/v1/videos/"+url.PathEscape(id), nil, nil, &v)
	return v, err
}

// CreateAnalysis creates an analysis. The server answers when the analysis ends, or after wait,
// which is at most 120 s (docs/contract.md#prefer-wait).
func (c *Client) CreateAnalysis(ctx context.Context, body map[string]any, idempotencyKey string, wait time.Duration) (Analysis, error) {
	header := http.Header{"Idempotency-Key": {idempotencyKey}}
	if s := int(wait.Seconds()); s > 0 {
		header.Set("Prefer", "wait="+strconv.Itoa(s))
	}
	var a Analysis
	err := c.call(ctx, http.MethodPost, "/v1/analyses", header, body, &a)
	return a, err
}

// Analysis reads an analysis.
func (c *Client) Analysis(ctx context.Context, id string) (Analysis, error) {
	var a Analysis
	err := c.call(ctx, http.MethodGet, "/v1/analyses/"+url.PathEscape(id), nil, nil, &a)
	return a, err
}

// CancelAnalysis cancels an analysis.
func (c *Client) CancelAnalysis(ctx context.Context, id string) (Analysis, error) {
	var a Analysis
	err := c.call(ctx, http.MethodPost, "/v1/analyses/"+url.PathEscape(id)+"/cancel", nil, nil, &a)
	return a, err
}

// Upload sends the bytes of a video to its upload URL.
func (c *Client) Upload(ctx context.Context, v Video, body io.Reader, size int64) error {
	if v.Upload == nil {
		return fmt.Errorf("the server gave no upload instructions for %s", v.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, v.Upload.Method, v.Upload.URL, body)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if req.ContentLength = size; size == 0 {
		req.Body = http.NoBody
	}
	for name, value := range v.Upload.Headers {
		req.Header.Set(name, value)
	}
	resp, err := c.HTTP.Do(req) //nolint:bodyclose // read closes it
	if err != nil {
		return fmt.Errorf("upload: %w", withoutURL(err))
	}
	return read(resp, nil)
}

// call sends a request, and repeats it while the server asks for it with Retry-After
// (docs/contract.md#retry). Requests that change something carry an idempotency key.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, body, into any) error {
	for began := time.Now(); ; {
		err := c.Once(ctx, method, path, header, body, into)
		var e *Error
		if !errors.As(err, &e) || e.retryAfter == 0 || time.Since(began)+e.retryAfter > patience {
			return err
		}
		// A random part spreads the questions of an evaluation, which would all return together.
		pause := e.retryAfter + time.Duration(rand.Int64N(int64(time.Second/4))) //nolint:gosec // no secret
		c.Busy(e, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Once sends a request once and decodes the response into into, unless that is nil.
func (c *Client) Once(ctx context.Context, method, path string, header http.Header, body, into any) error {
	limit := callTimeout
	if prefer := header.Get("Prefer"); prefer != "" {
		limit += 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, payload)
	if err != nil {
		return err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.HTTP.Do(req) //nolint:bodyclose // read closes it
	if err != nil {
		return fmt.Errorf("%s: %w", c.Base, withoutURL(err))
	}
	return read(resp, into)
}

// read decodes a response and closes its body. A status other than 2xx becomes an *Error.
func read(resp *http.Response, into any) (err error) {
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return refusal(resp, raw)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the server sent a response that is not valid for this API: %w", err)
	}
	switch v := into.(type) {
	case *Analysis:
		v.Raw = raw
	case *Stream:
		v.Raw = raw
	}
	return nil
}

func refusal(resp *http.Response, raw []byte) *Error {
	var envelope struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || envelope.Error == nil || envelope.Error.Code == "" {
		return &Error{Status: resp.StatusCode, Code: "http_" + strconv.Itoa(resp.StatusCode), Message: "The response does not come from this service."}
	}
	e := envelope.Error
	e.Status = resp.StatusCode
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.retryAfter = time.Duration(s) * time.Second
	}
	return e
}

// withoutURL removes the URL from an error, because it may be signed.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Dialable is the address at which a listener can be reached from this machine.
func Dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
