package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/rate"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/mcp"
)

// versions are the revisions of the protocol that the SDK speaks.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// call returns a message that calls a tool.
func call(version, tool, arguments string) string {
	return rpc(version, "tools/call", `"name": "`+tool+`", "arguments": `+arguments)
}

// rpc returns a message. From 2026-07-28, each message names the version and the client.
func rpc(version, method, params string) string {
	if version >= "2026-07-28" {
		meta := `"_meta": {"io.modelcontextprotocol/protocolVersion": "` + version + `", "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}`
		params = strings.TrimSuffix(meta+", "+params, ", ")
	}
	return `{"jsonrpc": "2.0", "id": 1, "method": "` + method + `", "params": {` + params + `}}`
}

// message makes the HTTP request of a message.
func (c *client) message(ctx context.Context, version, tool, body string) *http.Request {
	c.w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.w.url+edge.ToolsPath, strings.NewReader(body))
	require.NoError(c.w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.key.Secret)
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	if version >= "2026-07-28" {
		method := "tools/call"
		if tool == "" {
			method = "tools/list"
		} else {
			r.Header.Set("Mcp-Name", tool)
		}
		r.Header.Set("Mcp-Method", method)
	}
	return r
}

// post sends a message and returns the status and the messages of the response.
func (c *client) post(r *http.Request) (int, http.Header, []map[string]any) {
	c.w.t.Helper()
	got, err := http.DefaultClient.Do(r)
	require.NoError(c.w.t, err)
	raw, err := io.ReadAll(got.Body)
	require.NoError(c.w.t, err)
	require.NoError(c.w.t, got.Body.Close())
	var messages []map[string]any
	if strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.SplitSeq(string(raw), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var m map[string]any
				require.NoError(c.w.t, json.Unmarshal([]byte(data), &m), data)
				messages = append(messages, m)
			}
		}
		return got.StatusCode, got.Header, messages
	}
	var m map[string]any
	require.NoError(c.w.t, json.Unmarshal(raw, &m), string(raw))
	return got.StatusCode, got.Header, []map[string]any{m}
}

// in returns a member of a message by its dotted path.
func in(m map[string]any, path string) any { return response{json: m}.at(path) }

// toolError returns the error of a failed call.
func toolError(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	require.Equal(t, true, in(m, "result.isError"), m)
	var body map[string]map[string]any
	content := in(m, "result.content").([]any)[0].(map[string]any)
	require.NoError(t, json.Unmarshal([]byte(content["text"].(string)), &body))
	return body["error"]
}

func TestToolsSpeakEveryRevision(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	c := w.tester()
	for _, version := range versions {
		status, _, messages := c.post(c.message(t.Context(), version, "", rpc(version, "tools/list", "")))
		require.Equal(t, http.StatusOK, status, version)
		require.Len(t, in(messages[0], "result.tools"), 14, version)
	}
	r := c.message(t.Context(), "2026-07-28", "", rpc("2026-07-28", "server/discover", ""))
	r.Header.Set("Mcp-Method", "server/discover")
	_, _, messages := c.post(r)
	require.Equal(t, "private", in(messages[0], "result.cacheScope"), messages)
	require.NotContains(t, in(messages[0], "result.capabilities"), "logging")
	require.NotContains(t, in(messages[0], "result.capabilities.tools"), "listChanged")
}

func TestToolsRefuseARequestWithoutAKey(t *testing.T) {
	t.Parallel()
	w := open(t, withTools, func(o *httpapi.Options) { o.Rates.Reads = 20 })
	live := w.customer(10)
	revoked := w.customer(10)
	revoked.do(http.MethodDelete, "/v1/api-keys/"+revoked.key.KeyID, "")
	token := live.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"]}`).at("token").(string)
	for credential, want := range map[string]struct {
		status    int
		code      fault.Code
		challenge string
	}{
		"":                                 {401, fault.InvalidAPIKey, "Bearer"},
		"Bearer svc_live_unknown":          {401, fault.InvalidAPIKey, `Bearer error="invalid_token", error_description="invalid_api_key"`},
		"Bearer " + revoked.key.Secret:     {401, fault.KeyRevoked, `Bearer error="invalid_token", error_description="key_revoked"`},
		"Bearer " + token:                  {403, fault.InsufficientScope, `Bearer error="insufficient_scope"`},
		"Basic " + live.key.Secret:         {401, fault.InvalidAPIKey, "Bearer"},
		"Bearer " + live.key.Secret + " x": {401, fault.InvalidAPIKey, "Bearer"},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if method != http.MethodPost && credential != "" {
				continue
			}
			r := live.message(t.Context(), "2025-11-25", "", rpc("2025-11-25", "tools/list", ""))
			r.Method = method
			r.Header.Del("Authorization")
			if credential != "" {
				r.Header.Set("Authorization", credential)
			}
			status, header, messages := live.post(r)
			require.Equal(t, want.status, status, credential)
			require.Equal(t, "2.0", messages[0]["jsonrpc"])
			require.Contains(t, messages[0], "id")
			require.Nil(t, messages[0]["id"])
			require.Equal(t, string(want.code), in(messages[0], "error.data.code"), credential)
			require.Equal(t, header.Get("X-Request-Id"), in(messages[0], "error.data.request_id"))
			separator := ", "
			if want.challenge == "Bearer" {
				separator = " "
			}
			metadata := `resource_metadata="` + w.url + `/.well-known/oauth-protected-resource/mcp", scope="mcp"`
			require.Equal(t, want.challenge+separator+metadata, header.Get("WWW-Authenticate"), credential)
		}
	}
	request := func() *http.Request {
		return live.message(t.Context(), "2025-11-25", "", rpc("2025-11-25", "tools/list", ""))
	}
	require.Eventually(t, func() bool { // guessing keys is limited by address
		r := request()
		r.Header.Set("Authorization", "Bearer svc_live_guess")
		status, header, _ := live.post(r)
		return status == http.StatusTooManyRequests && header.Get("Retry-After") != ""
	}, 10*time.Second, time.Millisecond)
	status, _, _ := live.post(request())
	require.Equal(t, http.StatusOK, status, "a valid key has its own limit")
}

func TestToolsRefuseOtherSites(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) { withTools(o); o.Tools = toolsFor(o, "https://chat.example") })
	c := w.tester()
	list := rpc("2025-11-25", "tools/list", "")
	for name, change := range map[string]func(*http.Request){
		"origin":    func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"no origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
		"host":      func(r *http.Request) { r.Host = "evil.example" },
	} {
		r := c.message(t.Context(), "2025-11-25", "", list)
		change(r)
		status, header, messages := c.post(r)
		require.Equal(t, http.StatusForbidden, status, name)
		require.Equal(t, "insufficient_scope", in(messages[0], "error.data.code"))
		require.Empty(t, header.Get("Access-Control-Allow-Origin"))
	}
	for _, origin := range []string{"http://localhost:6274", "https://chat.example"} {
		preflight := c.message(t.Context(), "", "", "")
		preflight.Method = http.MethodOptions
		preflight.Header.Del("Authorization")
		preflight.Header.Set("Origin", origin)
		got, err := http.DefaultClient.Do(preflight)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Equal(t, http.StatusNoContent, got.StatusCode)
		require.Equal(t, origin, got.Header.Get("Access-Control-Allow-Origin"))
		for _, header := range []string{"Authorization", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID"} {
			require.Contains(t, got.Header.Get("Access-Control-Allow-Headers"), header)
		}
	}
	for _, origin := range []string{w.url, "https://chat.example"} {
		r := c.message(t.Context(), "2025-11-25", "", list)
		r.Header.Set("Origin", origin)
		status, header, _ := c.post(r)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, origin, header.Get("Access-Control-Allow-Origin"))
	}
}

func TestToolsRefuseBadInput(t *testing.T) {
	t.Parallel()
	a := open(t, withTools).tester().agent()
	videoID := a.done("get_test_fixture", nil).at("video_id")
	for _, tt := range []struct {
		tool      string
		arguments map[string]any
		code      fault.Code
		param     string
	}{
		{"create_analysis", map[string]any{"prompt": "Is there a dog?"}, fault.ValidationFailed, "video_id"},
		{"create_analysis", map[string]any{"video_id": videoID}, fault.PromptEmpty, ""},
		{"create_analysis", map[string]any{"video_id": videoID, "prompt": "x", "validate_only": true}, fault.ValidationFailed, "validate_only"},
		{"create_analysis", map[string]any{"video_id": videoID, "prompt": 7}, fault.ValidationFailed, "prompt"},
		{"create_analysis", map[string]any{"video_id": videoID, "prompt": "x", "narrative": "maybe"}, fault.ValidationFailed, "narrative"},
		{"create_analysis", map[string]any{"video_id": videoID, "prompt": strings.Repeat("x", 2001)}, fault.PromptTooLong, ""},
		{"create_analysis", map[string]any{"video_id": videoID, "prompt": "x", "model": "none"}, fault.ModelNotFound, ""},
		{"create_analysis", map[string]any{"video_id": videoID, "prompt": "x", "idempotency_key": "with space"}, fault.ValidationFailed, "idempotency_key"},
		{"create_analysis_batch", map[string]any{"video_id": videoID, "prompts": []string{"one"}}, fault.ValidationFailed, "prompts"},
		{"get_video", map[string]any{"video_id": 7}, fault.ValidationFailed, "video_id"},
		{"get_video", map[string]any{"video_id": ""}, fault.ValidationFailed, "video_id"},
		{"get_video", map[string]any{"video_id": "../../healthz"}, fault.ResourceNotFound, ""},
		{"get_analysis", map[string]any{"analysis_id": "x/cancel"}, fault.ResourceNotFound, ""},
		{"get_analysis", map[string]any{"analysis_id": "x?y#z"}, fault.ResourceNotFound, ""},
		{"list_video_analyses", map[string]any{"video_id": videoID, "limit": 0}, fault.ValidationFailed, "limit"},
		{"list_video_analyses", map[string]any{"video_id": videoID, "status": "unknown"}, fault.ValidationFailed, "status"},
		{"list_video_analyses", map[string]any{"video_id": videoID, "limit": "many"}, fault.ValidationFailed, "limit"},
		{"wait_for_analysis", map[string]any{"analysis_id": "an_1", "timeout_s": 46}, fault.ValidationFailed, "timeout_s"},
		{"create_video_from_url", map[string]any{"url": "https://127.0.0.1/x.mp4"}, fault.URLForbidden, ""},
		{"create_video_from_url", map[string]any{"url": "http://example.com/x.mp4"}, fault.URLForbidden, "url"},
	} {
		got := a.fails(tt.code, tt.tool, tt.arguments)
		if tt.param != "" {
			require.Equal(t, tt.param, got.at("error.errors").([]any)[0].(map[string]any)["argument"], string(got.raw))
		}
	}
	for _, arguments := range []string{`{}`, `{"video_id": 7}`, `{"id": "video_1"}`, `[]`} {
		_, header, messages := a.post(a.message(t.Context(), versions[0], "get_video", call(versions[0], "get_video", arguments)))
		require.Equal(t, header.Get("X-Request-Id"), toolError(t, messages[0])["request_id"], "%s: no operation ran, so the error names the message", arguments)
	}
	_, err := a.session.CallTool(t.Context(), toolParams("delete_everything"))
	require.ErrorContains(t, err, "unknown tool")
	for body, want := range map[string]int{
		`{`: 400, `[]`: 400, `{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}`: 400, strings.Repeat(" ", 1<<20+1): 413,
	} {
		status, header, messages := a.post(a.message(t.Context(), "2025-03-26", "", body))
		require.Equal(t, want, status, fmt.Sprintf("%.60s", body))
		require.Equal(t, "application/json", header.Get("Content-Type"))
		require.NotEmpty(t, in(messages[0], "error.message"))
	}
}

func TestToolsCountEachCallOfABatch(t *testing.T) {
	t.Parallel()
	w := open(t, withTools, func(o *httpapi.Options) { o.Rates.Reads = 6 })
	c := w.tester()
	batch := func(n int, message func(i int) string) map[string]int {
		var all []string
		for i := range n {
			all = append(all, message(i))
		}
		_, _, messages := c.post(c.message(t.Context(), "2025-03-26", "", "["+strings.Join(all, ",")+"]"))
		count := map[string]int{}
		for _, m := range messages {
			switch {
			case in(m, "error.code") != nil:
				count[fmt.Sprint(in(m, "error.code"))]++
			case in(m, "result.isError") == true:
				require.EqualValues(t, true, toolError(t, m)["retryable"])
				require.NotZero(t, toolError(t, m)["retry_after_s"])
				count[toolError(t, m)["code"].(string)]++
			default:
				count["done"]++
			}
		}
		return count
	}
	usage := func(i int) string {
		return fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "get_usage", "arguments": {}}}`, i)
	}
	require.Equal(t, map[string]int{"done": 6, "rate_limit_exceeded": 2}, batch(8, usage))
	listing := func(i int) string { return fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "tools/list"}`, i) }
	require.Equal(t, map[string]int{"-32010": 2}, batch(2, listing), "other messages count, too")
	bad := func(i int) string {
		return fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "get_usage", "arguments": {"x": 1}}}`, i)
	}
	require.Equal(t, map[string]int{"rate_limit_exceeded": 1}, batch(1, bad), "and calls with bad arguments")
	w.advance(rate.Window + rate.Bucket)
	require.Equal(t, map[string]int{"-32600": 1}, batch(25, listing), "a body has at most 20 messages")
	for i := range 7 {
		r := c.message(t.Context(), "2025-11-25", "", `{"jsonrpc": "2.0", "method": "notifications/initialized"}`)
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Equal(t, i == 6, got.StatusCode == http.StatusTooManyRequests, "a body without calls counts once")
	}
}

func TestToolsNeedTheScopesOfTheirOperations(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	owner := w.customer(10)
	created := owner.do(http.MethodPost, "/v1/api-keys", `{"name": "reader", "scopes": ["analyses:read"]}`)
	require.Equal(t, http.StatusCreated, created.StatusCode, string(created.raw))
	a := (&client{w, command.IssuedKey{AccountID: owner.key.AccountID, Secret: created.at("api_key").(string)}}).agent()
	a.fails(fault.InsufficientScope, "get_credits", nil)
	a.fails(fault.InsufficientScope, "create_analysis", map[string]any{"video_id": "video_x", "prompt": "Is there a dog?"})
	a.fails(fault.ResourceNotFound, "get_analysis", map[string]any{"analysis_id": "an_x"})
	require.NotContains(t, a.done("get_test_fixture", nil).json, "video_id")
}

func TestFixtureOfAKey(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	require.Contains(t, w.customer(10).agent().done("get_test_fixture", nil).at("next"), "This key is live, so analyses cost credits. Ask the person for a test key")
	c := w.tester()
	require.NotNil(t, c.agent().done("get_test_fixture", nil).at("video_id"))
	for range 100 {
		require.Equal(t, http.StatusCreated, c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`).StatusCode)
	}
	late := c.agent().done("get_test_fixture", nil)
	require.NotContains(t, late.json, "video_id")
	require.Equal(t, "The test video is not among the newest 100 videos. Ask the person for its id.", late.at("next"))
}

// broken is an edge whose operations panic.
type broken struct{ *edge.Edge }

// ServeHTTP implements http.Handler.
func (broken) ServeHTTP(http.ResponseWriter, *http.Request) { panic("broken on purpose") }

func TestToolsSurviveAPanic(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) {
		o.Tools = func(e *edge.Edge) http.Handler {
			return mcp.New(mcp.Options{Edge: broken{e}, PublicURL: o.PublicURL, PricePerSecondCents: o.Pricing.PricePerSecondCents, Log: o.Log})
		}
	})
	a := w.tester().agent()
	_, err := a.session.CallTool(t.Context(), toolParams("get_usage"))
	require.ErrorContains(t, err, fault.Lookup(fault.InternalError).Message)
	require.NotContains(t, err.Error(), "on purpose")
	require.Contains(t, w.logged.String(), "broken on purpose")
	_, header, messages := a.post(a.message(t.Context(), versions[0], "get_usage", call(versions[0], "get_usage", "{}")))
	require.NotEmpty(t, header.Get("X-Request-Id"))
	require.Equal(t, header.Get("X-Request-Id"), in(messages[0], "error.data.request_id"))
	_, err = a.session.ListTools(t.Context(), nil)
	require.NoError(t, err, "the process lives")
}
