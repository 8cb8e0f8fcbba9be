package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vqa/cmd/vqa/internal/terminal"
)

const (
	// callTimeout bounds one call, beside the time that the server was asked to wait.
	callTimeout = 90 * time.Second
	// uploadTimeout bounds one upload; the signed URL lives as long.
	uploadTimeout = time.Hour
	// probeTimeout bounds the question whether a server is there.
	probeTimeout = 2 * time.Second
	// patience bounds how long a call is repeated that the server asks to repeat.
	patience = 90 * time.Second
	// maxBody bounds a response, in bytes.
	maxBody = 16 << 20
)

// client speaks the public API. It is the only place of this program that asks over
// HTTP, and is safe for concurrent use.
type client struct {
	base string
	key  string
	http *http.Client
	// busy is told when a call will be repeated, and why.
	busy func(why *apiError, after time.Duration)
}

func newClient(base string) *client {
	return &client{base: strings.TrimRight(base, "/"), http: &http.Client{}, busy: func(*apiError, time.Duration) {}}
}

// apiError is the error envelope of the contract, or what failed a resource.
type apiError struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
	// Violations are all that is wrong with a request.
	Violations []struct {
		Param   string `json:"param"`
		Message string `json:"message"`
	} `json:"errors"`
	retryAfter time.Duration
}

// Error implements error: code, message and the field at fault.
func (e *apiError) Error() string {
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

// hasCode reports whether err is one of the API's with that code.
func hasCode(err error, codes ...string) bool {
	var e *apiError
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

// unauthorized reports a key that does not open the door.
func unauthorized(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}

// videoResource is what the command line reads of a video.
type videoResource struct {
	ID        string   `json:"id"`
	Status    string   `json:"status"`
	DurationS *float64 `json:"duration_s"`
	Upload    *struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	} `json:"upload"`
	Error *apiError `json:"error"`
}

// analysisResource is what the command line reads of an analysis.
type analysisResource struct {
	ID       string  `json:"id"`
	Livemode bool    `json:"livemode"`
	Status   string  `json:"status"`
	VideoID  string  `json:"video_id"`
	Prompt   *string `json:"prompt"`
	// StartedAt is nil of an analysis that ended without looking at the video.
	StartedAt *time.Time `json:"started_at"`
	Query     struct {
		PromptIntent string `json:"prompt_intent"`
	} `json:"query"`
	Model    string `json:"model"`
	Progress *struct {
		Stage   string  `json:"stage"`
		Percent float64 `json:"percent"`
	} `json:"progress"`
	QueuePosition   *int            `json:"queue_position"`
	EstimatedStartS *int            `json:"estimated_start_s"`
	Result          *analysisResult `json:"result"`
	Narrative       *struct {
		Status  string `json:"status"`
		Entries []struct {
			AtS  float64 `json:"t_s"`
			Text string  `json:"text"`
		} `json:"entries"`
	} `json:"narrative"`
	Artifacts *struct {
		AnnotatedVideoURL string  `json:"annotated_video_url"`
		ContactSheetURL   *string `json:"contact_sheet_url"`
	} `json:"artifacts"`
	Error *apiError `json:"error"`
	Usage *struct {
		BilledSeconds      int64  `json:"billed_seconds"`
		CreditBalanceAfter *int64 `json:"credit_balance_after"`
	} `json:"usage"`
	// raw is the resource as the server sent it.
	raw json.RawMessage
}

// clipResource is a part of a video.
type clipResource struct {
	StartS     float64 `json:"start_s"`
	EndS       float64 `json:"end_s"`
	Confidence float64 `json:"confidence"`
}

type analysisResult struct {
	Answer     string         `json:"answer"`
	Confidence float64        `json:"confidence"`
	Clips      []clipResource `json:"clips"`
	// CountEvidence is when DetectedCount instances are visible at the same time.
	CountEvidence       []clipResource `json:"count_evidence"`
	VideoDurationS      *float64       `json:"video_duration_s"`
	DetectedCount       *int           `json:"detected_count"`
	IndeterminateReason *string        `json:"indeterminate_reason"`
	UnsupportedAction   *struct {
		Reason  string `json:"reason"`
		DocsURL string `json:"docs_url"`
	} `json:"unsupported_action"`
}

// terminal reports an analysis that will not change.
func (a analysisResource) terminal() bool {
	return a.Status == "completed" || a.Status == "failed" || a.Status == "canceled"
}

// narrating reports that its narrative is still being written.
func (a analysisResource) narrating() bool {
	return a.Narrative != nil && a.Narrative.Status == "generating"
}

// healthy reports whether a server of ours answers.
func (c *client) healthy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var health struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}
	err := c.once(ctx, http.MethodGet, "/healthz", nil, nil, &health)
	return err == nil && health.Status == "ok" && health.Checks != nil
}

// ready reports whether the server can take work.
func (c *client) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return c.once(ctx, http.MethodGet, "/readyz", nil, nil, nil) == nil
}

// checkKey returns nil when the server accepts the key.
func (c *client) checkKey(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/v1/credits?limit=1", nil, nil, nil)
}

func (c *client) createVideo(ctx context.Context, body map[string]any, idempotencyKey string) (videoResource, error) {
	var v videoResource
	err := c.call(ctx, http.MethodPost, "/v1/videos", http.Header{"Idempotency-Key": {idempotencyKey}}, body, &v)
	return v, err
}

func (c *client) completeVideo(ctx context.Context, id string) (videoResource, error) {
	var v videoResource
	err := c.call(ctx, http.MethodPost, "/v1/videos/"+url.PathEscape(id)+"/complete", nil, nil, &v)
	return v, err
}

func (c *client) video(ctx context.Context, id string) (videoResource, error) {
	var v videoResource
	err := c.call(ctx, http.MethodGet, "/v1/videos/"+url.PathEscape(id), nil, nil, &v)
	return v, err
}

// createAnalysis asks a question. The server answers as soon as the analysis ends,
// at the latest after wait, which is at most 120 s.
func (c *client) createAnalysis(ctx context.Context, body map[string]any, idempotencyKey string, wait time.Duration) (analysisResource, error) {
	header := http.Header{"Idempotency-Key": {idempotencyKey}}
	if s := int(wait.Seconds()); s > 0 {
		header.Set("Prefer", "wait="+strconv.Itoa(s))
	}
	var a analysisResource
	err := c.call(ctx, http.MethodPost, "/v1/analyses", header, body, &a)
	return a, err
}

func (c *client) analysis(ctx context.Context, id string) (analysisResource, error) {
	var a analysisResource
	err := c.call(ctx, http.MethodGet, "/v1/analyses/"+url.PathEscape(id), nil, nil, &a)
	return a, err
}

func (c *client) cancelAnalysis(ctx context.Context, id string) (analysisResource, error) {
	var a analysisResource
	err := c.call(ctx, http.MethodPost, "/v1/analyses/"+url.PathEscape(id)+"/cancel", nil, nil, &a)
	return a, err
}

// upload sends the bytes of a video where the server wants them.
func (c *client) upload(ctx context.Context, v videoResource, body io.Reader, size int64) error {
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
	resp, err := c.http.Do(req) //nolint:bodyclose // read closes it
	if err != nil {
		return fmt.Errorf("upload: %w", withoutURL(err))
	}
	return read(resp, nil)
}

// call is once, repeated while the server asks for it (api-v1.md, "Retry rules"):
// each call of ours may be sent twice.
func (c *client) call(ctx context.Context, method, path string, header http.Header, body, into any) error {
	for began := time.Now(); ; {
		err := c.once(ctx, method, path, header, body, into)
		var e *apiError
		if !errors.As(err, &e) || e.retryAfter == 0 || time.Since(began)+e.retryAfter > patience {
			return err
		}
		// Spread, so that the questions of an evaluation do not return together.
		pause := e.retryAfter + time.Duration(rand.Int64N(int64(time.Second/4))) //nolint:gosec // no secret
		c.busy(e, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *client) once(ctx context.Context, method, path string, header http.Header, body, into any) error {
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
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req) //nolint:bodyclose // read closes it
	if err != nil {
		return fmt.Errorf("%s: %w", c.base, withoutURL(err))
	}
	return read(resp, into)
}

// read decodes a response and closes it; one outside 2xx is an *apiError.
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
		return fmt.Errorf("the response is not what the contract says: %w", err)
	}
	if a, ok := into.(*analysisResource); ok {
		a.raw = raw
	}
	return nil
}

func refusal(resp *http.Response, raw []byte) *apiError {
	var envelope struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || envelope.Error == nil || envelope.Error.Code == "" {
		return &apiError{Status: resp.StatusCode, Code: "http_" + strconv.Itoa(resp.StatusCode), Message: "The answer is not from this service."}
	}
	e := envelope.Error
	e.Status = resp.StatusCode
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.retryAfter = time.Duration(s) * time.Second
	}
	return e
}

// withoutURL leaves out of an error the URL, which may be a signed one.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
