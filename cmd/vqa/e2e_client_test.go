package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"
)

// apiClient calls a service like an ordinary client, and validates every response against the
// contract.
type apiClient struct {
	*service
	key issued
}

// issued is the output of `vqa keys create --json`.
type issued struct {
	AccountID    string `json:"account_id"`
	KeyID        string `json:"key_id"`
	APIKey       string `json:"api_key"`
	Mode         string `json:"mode"`
	GrantSeconds int64  `json:"grant_seconds"`
}

// account creates an account with a live key.
func (s *service) account(t testing.TB, grantSeconds int) *apiClient {
	t.Helper()
	return &apiClient{s, s.newKey(t, "--grant-seconds", fmt.Sprint(grantSeconds))}
}

func (s *service) newKey(t testing.TB, args ...string) issued {
	t.Helper()
	var key issued
	out := s.tool(t, append([]string{"keys", "create", "--mode", "live", "--json"}, args...)...)
	require.NoError(t, json.Unmarshal(out, &key))
	require.True(t, strings.HasPrefix(key.APIKey, "svc_live_"), "%s", out)
	return key
}

// newTestKey creates an account with a test key. The limit of sandboxes does not count it.
func (s *service) newTestKey(t testing.TB) string {
	t.Helper()
	var key issued
	out := s.tool(t, "keys", "create", "--mode", "test", "--json")
	require.NoError(t, json.Unmarshal(out, &key))
	require.True(t, strings.HasPrefix(key.APIKey, "svc_test_"))
	return key.APIKey
}

// answer is a response with its JSON body.
type answer struct {
	status int
	header http.Header
	raw    []byte
	doc    map[string]any
}

// at returns the value at a dotted path of the body, or nil.
func (a answer) at(path string) any {
	var v any = a.doc
	for _, name := range strings.Split(path, ".") {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

func (a answer) text(path string) string { s, _ := a.at(path).(string); return s }

func (a answer) number(path string) float64 { n, _ := a.at(path).(float64); return n }

func (a answer) code() string { return a.text("error.code") }

// terminal is true for an analysis that has ended.
func (a answer) terminal() bool {
	switch a.text("status") {
	case "completed", "failed", "canceled":
		return true
	}
	return false
}

// call sends a JSON request. header lists names and values alternately.
func (c *apiClient) call(t testing.TB, method, path string, body any, header ...string) answer {
	t.Helper()
	a, err := c.try(t, method, path, body, header...)
	require.NoError(t, err)
	return a
}

// try is call for a service that may not answer. It can be used on any goroutine.
func (c *apiClient) try(t testing.TB, method, path string, body any, header ...string) (answer, error) {
	var payload io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		payload = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.addr+path, payload)
	if err != nil {
		return answer{}, err
	}
	if c.key.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.key.APIKey)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	a, err := exchange(req)
	if err != nil {
		return answer{}, err
	}
	if err := conforms(req, a); err != nil {
		t.Errorf("%s %s: %v\n%s", method, path, err, a.raw)
	}
	return a, nil
}

// patient is a client whose timeout is longer than "Prefer: wait=120".
var patient = &http.Client{Timeout: 150 * time.Second}

func exchange(req *http.Request) (answer, error) {
	resp, err := patient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.raw, err = io.ReadAll(resp.Body); err != nil {
		return answer{}, err
	}
	if resp.Header.Get("Content-Type") == "application/json" {
		err = json.Unmarshal(a.raw, &a.doc)
	}
	return a, err
}

// contract loads the contract that validates every response.
var contract = sync.OnceValues(func() (routers.Router, error) {
	document, err := openapi3.NewLoader().LoadFromFile("../../handlers/httpapi/openapi.yaml")
	if err != nil {
		return nil, err
	}
	document.Servers = nil
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.FileBodyDecoder)
	return gorillamux.NewRouter(document)
})

// conforms validates a response against the contract. The contract must describe its status, its
// headers and its body, and an error must repeat the status and the request id.
func conforms(r *http.Request, a answer) error {
	requestID := a.header.Get("X-Request-Id")
	if !strings.HasPrefix(requestID, "req_") {
		return fmt.Errorf("X-Request-Id is %q", requestID)
	}
	if a.status >= 400 && (a.number("error.status") != float64(a.status) || a.text("error.request_id") != requestID || a.text("error.message") == "") {
		return fmt.Errorf("the error envelope of status %d is incomplete", a.status)
	}
	judge, err := contract()
	if err != nil {
		return err
	}
	route, parameters, err := judge.FindRoute(r)
	if err != nil {
		if a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed {
			return nil
		}
		return fmt.Errorf("not in the contract: %w", err)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: parameters, Route: route},
		Status:                 a.status, Header: a.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	input.SetBodyBytes(a.raw)
	return openapi3filter.ValidateResponse(r.Context(), input)
}

// upload creates a video and uploads bytes, without completing it.
func (c *apiClient) upload(t testing.TB, data []byte) (videoID string, put answer) {
	t.Helper()
	v := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4", "filename": "clip.mp4"})
	require.Equal(t, http.StatusCreated, v.status, "%s", v.raw)
	return v.text("id"), c.put(t, v, data)
}

// put follows the upload instructions of a video.
func (c *apiClient) put(t testing.TB, v answer, data []byte) answer {
	t.Helper()
	require.Equal(t, http.MethodPut, v.text("upload.method"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, v.text("upload.url"), bytes.NewReader(data))
	require.NoError(t, err)
	headers, _ := v.at("upload.headers").(map[string]any)
	for name, value := range headers {
		req.Header.Set(name, value.(string))
	}
	a, err := exchange(req)
	require.NoError(t, err)
	return a
}

func (c *apiClient) complete(t testing.TB, videoID string) answer {
	t.Helper()
	return c.call(t, http.MethodPost, "/v1/videos/"+videoID+"/complete", nil)
}

// readyVideo uploads a clip and completes it.
func (c *apiClient) readyVideo(t testing.TB, clip string) string {
	t.Helper()
	data, err := os.ReadFile(clip)
	require.NoError(t, err)
	videoID, put := c.upload(t, data)
	require.Equal(t, http.StatusOK, put.status, "%s", put.raw)
	v := c.complete(t, videoID)
	require.Equal(t, http.StatusOK, v.status, "%s", v.raw)
	require.Equal(t, "ready", v.text("status"))
	return videoID
}

// ask creates an analysis. header lists names and values alternately.
func (c *apiClient) ask(t testing.TB, videoID, prompt string, header ...string) answer {
	t.Helper()
	return c.call(t, http.MethodPost, "/v1/analyses", map[string]any{"video_id": videoID, "prompt": prompt}, header...)
}

// await reads a resource until ok is true.
func (c *apiClient) await(t testing.TB, path string, patience time.Duration, ok func(answer) bool) answer {
	t.Helper()
	var last answer
	reached := poll(patience, func() bool {
		last = c.call(t, http.MethodGet, path, nil)
		require.Equal(t, http.StatusOK, last.status, "%s", last.raw)
		return ok(last)
	})
	require.True(t, reached, "%s is still\n%s", path, last.raw)
	return last
}

func (c *apiClient) credits(t testing.TB) answer {
	t.Helper()
	a := c.call(t, http.MethodGet, "/v1/credits?limit=100", nil)
	require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
	return a
}
