package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/objects"
	"vqa/projections/ledger"
)

// client calls the API with one key.
type client struct {
	w   *world
	key command.IssuedKey
}

// customer opens a live account with credits.
func (w *world) customer(grant int64) *client {
	w.t.Helper()
	key, err := w.service.IssueKey(w.t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, Name: "test", GrantSeconds: grant, Operator: "test"})
	require.NoError(w.t, err)
	return &client{w, key}
}

// tester opens an account with a test key and a fixture video.
func (w *world) tester() *client {
	w.t.Helper()
	key, err := w.service.IssueKey(w.t.Context(), command.NewKey{Mode: account.Test, Tier: account.Sandbox, Name: "test", Operator: "test"})
	require.NoError(w.t, err)
	return &client{w, key}
}

// response is a whole response and its JSON.
type response struct {
	*http.Response
	raw  []byte
	json map[string]any
}

// at returns a member by its dotted path, or nil. A number is the index of an item.
func (r response) at(path string) any {
	var v any = r.json
	for name := range strings.SplitSeq(path, ".") {
		if list, isList := v.([]any); isList {
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(list) {
				return nil
			}
			v = list[i]
			continue
		}
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

// do sends a request with the key of the client.
func (c *client) do(method, path, body string, headers ...string) response {
	c.w.t.Helper()
	return c.w.do(method, path, body, append([]string{"Authorization", "Bearer " + c.key.Secret}, headers...)...)
}

// do sends a request and validates the response against the contract. headers are names and
// values in turn.
func (w *world) do(method, path, body string, headers ...string) response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	raw, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, got.Body.Close())
	out := response{Response: got, raw: raw}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") && len(raw) > 0 {
		require.NoError(w.t, json.Unmarshal(raw, &out.json), string(raw))
	}
	w.check(r, out)
	return out
}

// check requires that the contract describes the status, headers and body of a response.
func (w *world) check(r *http.Request, got response) {
	w.t.Helper()
	require.Regexp(w.t, `^req_[0-9A-HJKMNP-TV-Z]{26}$`, got.Header.Get("X-Request-Id"))
	if got.StatusCode >= 400 && r.Method != http.MethodHead {
		require.Equal(w.t, got.Header.Get("X-Request-Id"), got.at("error.request_id"), string(got.raw))
		require.EqualValues(w.t, got.StatusCode, got.at("error.status"))
	}
	described := r.Clone(w.t.Context())
	if described.Method == http.MethodHead {
		described.Method = http.MethodGet
	}
	route, params, err := w.contract.FindRoute(described)
	if strings.HasPrefix(r.URL.Path, objects.Path) {
		// Signed URLs are opaque to clients, so the contract does not describe them.
		return
	}
	if err != nil {
		require.Contains(w.t, []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests}, got.StatusCode, "%s is not in the contract", r.URL.Path)
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: described, PathParams: params, Route: route},
		Status:                 got.StatusCode, Header: got.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: r.Method == http.MethodHead},
	}
	input.SetBodyBytes(got.raw)
	require.NoError(w.t, openapi3filter.ValidateResponse(w.t.Context(), input), "%s %s: %d %s", r.Method, r.URL.Path, got.StatusCode, got.raw)
}

// refused requires the status, the code and the field of an error.
func (w *world) refused(got response, status int, code fault.Code, param string) {
	w.t.Helper()
	require.Equal(w.t, status, got.StatusCode, string(got.raw))
	require.Equal(w.t, string(code), got.at("error.code"), string(got.raw))
	if param != "" && got.at("error.param") == nil {
		list, _ := got.at("error.errors").([]any)
		require.Len(w.t, list, 1, string(got.raw))
		require.Equal(w.t, param, list[0].(map[string]any)["param"])
		return
	}
	if param != "" {
		require.Equal(w.t, param, got.at("error.param"), string(got.raw))
	}
}

// ready uploads the fixture as a video of the customer and completes it.
func (c *client) ready() string {
	c.w.t.Helper()
	created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "filename": "ball.mp4"}`)
	require.Equal(c.w.t, http.StatusCreated, created.StatusCode, string(created.raw))
	c.upload(created, fixture.Bytes())
	videoID := created.at("id").(string)
	done := c.do(http.MethodPost, "/v1/videos/"+videoID+"/complete", "")
	require.Equal(c.w.t, http.StatusOK, done.StatusCode, string(done.raw))
	require.Equal(c.w.t, "ready", done.at("status"))
	return videoID
}

// upload follows the upload instructions of a video.
func (c *client) upload(video response, content []byte) {
	c.w.t.Helper()
	r, err := http.NewRequestWithContext(c.w.t.Context(), video.at("upload.method").(string), video.at("upload.url").(string), bytes.NewReader(content))
	require.NoError(c.w.t, err)
	for name, value := range video.at("upload.headers").(map[string]any) {
		r.Header.Set(name, value.(string))
	}
	put, err := http.DefaultClient.Do(r)
	require.NoError(c.w.t, err)
	require.NoError(c.w.t, put.Body.Close())
	require.Less(c.w.t, put.StatusCode, 300)
}

// ask creates an analysis and returns its id.
func (c *client) ask(videoID, prompt string) string {
	c.w.t.Helper()
	got := c.do(http.MethodPost, "/v1/analyses", `{"video_id": "`+videoID+`", "prompt": "`+prompt+`"}`)
	require.Equal(c.w.t, http.StatusAccepted, got.StatusCode, string(got.raw))
	return got.at("id").(string)
}

// claim starts the work on an analysis like a worker.
func (c *client) claim(videoID, analysisID string) command.Run {
	c.w.t.Helper()
	run := command.Run{AccountID: c.key.AccountID, AnalysisID: analysisID, VideoID: videoID, Attempt: 1}
	_, _, err := c.w.service.ClaimAnalysis(c.w.t.Context(), run, "test")
	require.NoError(c.w.t, err)
	return run
}

// balance reads the balance of the account.
func (c *client) balance() credit.State {
	c.w.t.Helper()
	b, err := ledger.NewReader(c.w.pool).Balance(c.w.t.Context(), c.key.AccountID)
	require.NoError(c.w.t, err)
	return b
}
