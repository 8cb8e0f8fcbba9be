package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// requestTimeout is how long a client waits for a response.
const requestTimeout = 10 * time.Second

// outcome is how one request ended for the client.
type outcome int

const (
	served  outcome = iota // an answer of the API, also a definite refusal such as 409
	refused                // 429 or 503 with Retry-After, or another code that may be repeated
	lost                   // no answer: the connection broke, the time ran out, or the address found no node
)

// sample is one request.
type sample struct {
	ended time.Time
	took  time.Duration
	outcome
	write bool
	code  string // of a refusal
}

// wait is a request with all its repeats, until the definite answer.
type wait struct{ began, ended time.Time }

// records collects the samples of all customers, and everything that must not happen.
type records struct {
	mu      sync.Mutex
	samples []sample
	blames  []string
	done    [acts]int // operations that ended
	waits   []wait
}

func (r *records) add(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, s)
}

func (r *records) waited(w wait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits = append(r.waits, w)
}

// blame notes a broken promise. The run goes on.
func (r *records) blame(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blames = append(r.blames, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// response is an answer of the API.
type response struct {
	status    int
	requestID string
	raw       []byte
	doc       map[string]any
	repeated  bool // an earlier request may have been carried out, because its answer was lost
	replayed  bool
	wait      time.Duration
}

// at returns the value at a dotted path, or nil.
func (r response) at(path string) any { return at(r.doc, path) }

func (r response) text(path string) string { s, _ := r.at(path).(string); return s }

func (r response) code() string { return r.text("error.code") }

func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		parent, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = parent[name]
	}
	return v
}

func text(v any, path string) string { s, _ := at(v, path).(string); return s }

func number(v any, path string) float64 { n, _ := at(v, path).(float64); return n }

// client sends the requests of one customer.
type client struct {
	base    string
	http    *http.Client
	records *records
}

// request is what a client sends until it gets a definite answer.
type request struct {
	method, path string // path may be a whole URL
	key          string
	body         any // nil, raw bytes, or a value for JSON
	idempotency  string
	header       map[string]string
}

// mayRepeat are the codes that a client may repeat besides 429 and 503 (docs/contract.md#error-registry).
var mayRepeat = map[string]bool{"idempotency_unavailable": true, "internal_error": true}

// do sends a request, and repeats it as docs/contract.md#retry says: after Retry-After, and after a lost
// connection. Every repeat has the same Idempotency-Key. An error means that ctx has ended.
func (c *client) do(ctx context.Context, r request) (response, error) {
	lostOne, first := false, time.Now()
	for try := 0; ; try++ {
		began := time.Now()
		got, err := c.once(ctx, r)
		if ctx.Err() != nil {
			return response{}, ctx.Err()
		}
		s := sample{ended: time.Now(), took: time.Since(began), write: r.method != http.MethodGet}
		pause := 250*time.Millisecond + time.Duration(rand.Int64N(int64(500*time.Millisecond)))
		switch {
		case err != nil:
			s.outcome, lostOne = lost, true
		case got.status == http.StatusTooManyRequests || got.status == http.StatusServiceUnavailable:
			s.outcome, s.code = refused, got.code()
			if got.wait <= 0 {
				c.records.blame("%s %s: %d %s without Retry-After (%s)", r.method, r.path, got.status, got.code(), got.requestID)
			}
			pause += got.wait
		case mayRepeat[got.code()]:
			s.outcome, s.code = refused, got.code()
			pause += time.Second
		}
		c.records.add(s)
		if s.outcome == served {
			got.repeated = lostOne
			c.records.waited(wait{first, s.ended})
			return got, nil
		}
		if s.code == "internal_error" {
			c.records.blame("%s %s: %s", r.method, r.path, got.raw)
			lostOne = true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return response{}, ctx.Err()
		}
	}
}

// once sends a request once. An error means that there was no answer of the API.
func (c *client) once(ctx context.Context, r request) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body io.Reader
	raw, isRaw := r.body.([]byte)
	if r.body != nil {
		if !isRaw {
			var err error
			if raw, err = json.Marshal(r.body); err != nil {
				return response{}, err
			}
		}
		body = bytes.NewReader(raw)
	}
	url := r.path
	if strings.HasPrefix(url, "/") {
		url = c.base + url
	}
	req, err := http.NewRequestWithContext(ctx, r.method, url, body)
	if err != nil {
		return response{}, err
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.body != nil && !isRaw {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.idempotency != "" {
		req.Header.Set("Idempotency-Key", r.idempotency)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return response{}, err
	}
	got := response{status: resp.StatusCode, requestID: resp.Header.Get("X-Request-Id"), replayed: resp.Header.Get("Idempotency-Replayed") == "true"}
	got.raw, err = io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err != nil || closeErr != nil {
		return response{}, fmt.Errorf("the answer is cut off: %w", err)
	}
	if got.requestID == "" && got.status >= 500 {
		return response{}, fmt.Errorf("status %d from the address", got.status)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		got.wait = time.Duration(seconds) * time.Second
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(got.raw, &got.doc); err != nil {
			return response{}, err
		}
	}
	return got, nil
}
