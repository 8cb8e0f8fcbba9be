package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/mcp"
)

// withTools adds the agent tool endpoint and its authorization server.
func withTools(o *httpapi.Options) {
	withAuthorization(o, nil)
	o.Tools = toolsFor(o)
}

// toolsFor returns a function that makes the endpoint. Pages of the origins may call it.
func toolsFor(o *httpapi.Options, origins ...string) func(*edge.Edge) http.Handler {
	return func(e *edge.Edge) http.Handler {
		return mcp.New(mcp.Options{
			Edge: e, PublicURL: o.PublicURL, Version: "test", PricePerSecondCents: o.Pricing.PricePerSecondCents,
			BatchDiscountPct: o.Pricing.BatchDiscountPct, Origins: origins, Log: o.Log,
		})
	}
}

// bearerTransport adds a key to each request.
type bearerTransport struct{ key string }

// RoundTrip implements http.RoundTripper.
func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// agent is a client of the tools with one key.
type agent struct {
	*client
	session *sdk.ClientSession
	// schemas are the output schemas of the tools.
	schemas map[string]any
	mu      sync.Mutex
	heard   []sdk.ProgressNotificationParams
}

// agent connects a client of the tools.
func (c *client) agent() *agent {
	c.w.t.Helper()
	a := &agent{client: c}
	connecting := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.heard = append(a.heard, *r.Params)
		},
	})
	session, err := connecting.Connect(c.w.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: c.w.url + edge.ToolsPath, HTTPClient: &http.Client{Transport: bearerTransport{c.key.Secret}}, DisableStandaloneSSE: true,
	}, nil)
	require.NoError(c.w.t, err)
	c.w.t.Cleanup(func() { _ = session.Close() })
	a.session, a.schemas = session, map[string]any{}
	tools, err := session.ListTools(c.w.t.Context(), nil)
	require.NoError(c.w.t, err)
	for _, tool := range tools.Tools {
		a.schemas[tool.Name] = tool.OutputSchema
	}
	return a
}

// progress returns the messages that were heard.
func (a *agent) progress() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var messages []string
	for _, p := range a.heard {
		messages = append(messages, p.Message)
	}
	return messages
}

// result is the result of a call. Its response is the text, and full the structured content.
type result struct {
	*sdk.CallToolResult
	response
	full response
}

// shortened are the tools whose text is the short form of resources. The structured content has the resources.
var shortened = []string{
	"create_video_from_url", "get_video", "list_videos", "create_analysis", "create_analysis_batch", "get_analysis", "wait_for_analysis",
	"list_video_analyses", "rerun_analysis",
}

// call calls a tool.
func (a *agent) call(name string, arguments map[string]any) result {
	a.w.t.Helper()
	got, err := a.session.CallTool(a.w.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(a.w.t, err)
	return a.decode(name, got)
}

func (a *agent) decode(name string, got *sdk.CallToolResult) result {
	a.w.t.Helper()
	raw := got.Content[0].(*sdk.TextContent).Text
	out := result{got, response{raw: []byte(raw)}, response{}}
	require.NoError(a.w.t, json.Unmarshal(out.raw, &out.json), raw)
	if got.IsError {
		require.Nil(a.w.t, got.StructuredContent)
		require.NotEmpty(a.w.t, out.at("error.next"))
		require.Regexp(a.w.t, "^req_", out.at("error.request_id"), raw)
		return out
	}
	var err error
	out.full.raw, err = json.Marshal(got.StructuredContent)
	require.NoError(a.w.t, err)
	require.NoError(a.w.t, json.Unmarshal(out.full.raw, &out.full.json))
	a.matches(name, out.full.json)
	if !slices.Contains(shortened, name) {
		require.JSONEq(a.w.t, raw, string(out.full.raw))
		named(a.w.t, name, a.schemas[name].(map[string]any), out.full.json)
	}
	return out
}

// matches requires that a result matches the schema of its tool.
func (a *agent) matches(name string, value any) {
	a.w.t.Helper()
	compiler := jsonschema.NewCompiler()
	require.NoError(a.w.t, compiler.AddResource("result.json", a.schemas[name]))
	compiled, err := compiler.Compile("result.json")
	require.NoError(a.w.t, err)
	require.NoError(a.w.t, compiled.Validate(value))
}

// reads requires that a resource of a result is that of the API.
func (a *agent) reads(path string, resource any) {
	a.w.t.Helper()
	got, err := json.Marshal(resource)
	require.NoError(a.w.t, err)
	require.JSONEq(a.w.t, string(a.client.do(http.MethodGet, path, "").raw), string(got))
}

// named requires that a schema names each member of a value. The compiled query has a schema of its own.
func named(t *testing.T, path string, schema map[string]any, value any) {
	t.Helper()
	if choices, ok := schema["anyOf"].([]any); ok {
		schema = choices[0].(map[string]any)
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			named(t, path+"[]", schema["items"].(map[string]any), item)
		}
	case map[string]any:
		properties, ok := schema["properties"].(map[string]any)
		for member, inner := range v {
			if !ok {
				return
			}
			require.Contains(t, properties, member, path)
			named(t, path+"."+member, properties[member].(map[string]any), inner)
		}
	}
}

// fails requires that a call fails with a code, and returns its error.
func (a *agent) fails(code fault.Code, name string, arguments map[string]any) result {
	a.w.t.Helper()
	got := a.call(name, arguments)
	require.True(a.w.t, got.IsError, string(got.raw))
	require.Equal(a.w.t, string(code), got.at("error.code"), string(got.raw))
	return got
}

// done requires that a call succeeds.
func (a *agent) done(name string, arguments map[string]any) result {
	a.w.t.Helper()
	got := a.call(name, arguments)
	require.False(a.w.t, got.IsError, string(got.raw))
	return got
}

func TestToolsAnswerAQuestionOfATestKey(t *testing.T) {
	t.Parallel()
	a := open(t, withTools).tester().agent()
	tools, err := a.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 14)
	listed, err := json.Marshal(tools)
	require.NoError(t, err)
	require.Less(t, len(listed), 32_000, "a model reads the list in each conversation")

	fixture := a.done("get_test_fixture", nil)
	checked := a.done("validate_analysis", map[string]any{"video_id": fixture.at("video_id"), "prompt": fixture.at("prompt")})
	require.Equal(t, true, checked.at("assessable"))
	created := a.done("create_analysis", map[string]any{
		"video_id": fixture.at("video_id"), "prompt": fixture.at("prompt"), "idempotency_key": "once", "narrative": true, "metadata": map[string]any{"run": "1"},
	})
	require.Equal(t, "completed", created.at("analysis.status"))
	require.Equal(t, fixture.at("expected_answer"), created.at("analysis.answer"))
	require.EqualValues(t, 0, created.at("cost.held_seconds"))
	require.Equal(t, false, created.at("analysis.livemode"))
	again := a.done("create_analysis", map[string]any{
		"video_id": fixture.at("video_id"), "prompt": fixture.at("prompt"), "idempotency_key": "once", "narrative": true, "metadata": map[string]any{"run": "1"},
	})
	require.Equal(t, created.at("analysis.id"), again.at("analysis.id"))
	a.fails(fault.IdempotencyKeyReused, "create_analysis", map[string]any{"video_id": fixture.at("video_id"), "prompt": "Is there a dog?", "idempotency_key": "once"})

	waited := a.done("wait_for_analysis", map[string]any{"analysis_id": created.at("analysis.id")})
	require.Contains(t, waited.json, "retry")
	require.Nil(t, waited.at("retry"))
	read := a.done("get_analysis", map[string]any{"analysis_id": created.at("analysis.id"), "include_image": true})
	require.Equal(t, "ready", read.at("narrative_status"))
	require.NotEmpty(t, read.at("narrative"))
	require.Len(t, read.Content, 2, "a text says why there is no picture")
	path := "/v1/analyses/" + created.at("analysis.id").(string)
	for _, resource := range []any{created.full.at("analysis"), waited.full.at("analysis"), read.full.json} {
		a.reads(path, resource)
	}

	batch := a.done("create_analysis_batch", map[string]any{"video_id": fixture.at("video_id"), "prompts": []string{"Is there a ball?", "How many balls are there?"}})
	require.Len(t, batch.at("analyses"), 2)
	list := a.done("list_video_analyses", map[string]any{"video_id": fixture.at("video_id"), "limit": 2})
	require.Len(t, list.at("analyses"), 2)
	require.Equal(t, true, list.at("has_more"))
	rest := a.done("list_video_analyses", map[string]any{"video_id": fixture.at("video_id"), "starting_after": list.at("next_starting_after")})
	require.Len(t, rest.at("analyses"), 1)
	a.reads(path, rest.full.at("analyses.0"))
	a.reads("/v1/analyses/"+list.at("analyses.0.id").(string), list.full.at("analyses.0"))
	a.reads("/v1/analyses/"+batch.at("analyses.1.id").(string), batch.full.at("analyses.1"))
	video := a.done("get_video", map[string]any{"video_id": fixture.at("video_id")})
	require.Equal(t, "ready", video.at("status"))
	a.reads("/v1/videos/"+fixture.at("video_id").(string), video.full.json)
	found := a.done("list_videos", map[string]any{"status": "ready", "limit": 1})
	require.Equal(t, fixture.at("video_id"), found.at("videos.0.id"))
	a.reads("/v1/videos/"+fixture.at("video_id").(string), found.full.at("videos.0"))
	require.Empty(t, a.done("list_videos", map[string]any{"starting_after": fixture.at("video_id")}).at("videos"))
	require.NotEmpty(t, a.done("list_models", nil).at("models"))
	require.NotEmpty(t, a.done("get_usage", nil).at("meters"))
	require.EqualValues(t, 0, a.done("get_credits", nil).at("available_seconds"))
	a.fails(fault.RerunNotEligible, "rerun_analysis", map[string]any{"analysis_id": created.at("analysis.id")})
}

func TestToolsWaitForALiveAnalysis(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	a := w.customer(100).agent()
	videoID := a.ready()
	created := a.done("create_analysis", map[string]any{"video_id": videoID, "prompt": "Is there a dog?"})
	require.EqualValues(t, 6, created.at("cost.held_seconds"))
	require.EqualValues(t, 0.03, created.at("cost.held_usd"))
	analysisID := created.at("analysis.id").(string)

	short := a.done("wait_for_analysis", map[string]any{"analysis_id": analysisID, "timeout_s": 1})
	require.Equal(t, "timeout", short.at("retry.reason"))
	require.Equal(t, "queued", short.at("analysis.status"))

	answered := make(chan result, 1)
	go func() {
		params := &sdk.CallToolParams{Name: "wait_for_analysis", Arguments: map[string]any{"analysis_id": analysisID}}
		params.SetProgressToken("waiting")
		got, err := a.session.CallTool(t.Context(), params)
		if err != nil {
			close(answered)
			return
		}
		answered <- a.decode(params.Name, got)
	}()
	require.Eventually(t, func() bool { return w.waiting() == 1 }, 20*time.Second, time.Millisecond)
	run := a.claim(videoID, analysisID)
	require.NoError(t, w.service.ReportProgress(t.Context(), run, analysis.Analyzing, 40))
	w.wake()
	require.Eventually(t, func() bool { return slices.Contains(a.progress(), "analyzing") }, 20*time.Second, time.Millisecond)
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, fixture.Fixture{}.Answer(english.Compile("Is there a ball?")), 6_000_000, 12, nil))
	w.wake()
	got, ok := <-answered
	require.True(t, ok)
	require.Equal(t, "completed", got.at("analysis.status"))
	require.EqualValues(t, 6, got.at("analysis.billed_seconds"))
	require.EqualValues(t, 0.03, got.at("analysis.billed_usd"))
	require.Nil(t, got.at("retry"))
	require.EqualValues(t, 94, a.done("get_credits", nil).at("available_seconds"))
	require.Equal(t, "completed", a.progress()[len(a.progress())-1])
}

func TestToolsEndAWaitWithItsClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := open(t, withTools)
			c := w.customer(100)
			analysisID := c.ask(c.ready(), "Is there a dog?")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				body := call(version, "wait_for_analysis", `{"analysis_id": "`+analysisID+`"}`)
				got, err := http.DefaultClient.Do(c.message(ctx, version, "wait_for_analysis", body))
				if err == nil {
					_ = got.Body.Close()
				}
			}()
			require.Eventually(t, func() bool { return w.waiting() == 1 }, 20*time.Second, time.Millisecond)
			cancel()
			<-ended
			require.Eventually(t, func() bool { return w.waiting() == 0 }, 20*time.Second, time.Millisecond)
		})
	}
}

func TestToolsHideOtherAccounts(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	owner := w.customer(100)
	videoID := owner.ready()
	analysisID := owner.ask(videoID, "Is there a dog?")
	stranger := w.customer(100).agent()
	unknown := strings.Repeat("0", 26)
	for name, arguments := range map[string]map[string]any{
		"get_video":             {"video_id": videoID},
		"list_video_analyses":   {"video_id": videoID},
		"create_analysis":       {"video_id": videoID, "prompt": "Is there a dog?"},
		"validate_analysis":     {"video_id": videoID, "prompt": "Is there a dog?"},
		"create_analysis_batch": {"video_id": videoID, "prompts": []string{"Is there a dog?", "Is there a cat?"}},
		"get_analysis":          {"analysis_id": analysisID},
		"wait_for_analysis":     {"analysis_id": analysisID},
		"rerun_analysis":        {"analysis_id": analysisID},
	} {
		foreign := stranger.fails(fault.ResourceNotFound, name, arguments)
		for field, id := range arguments {
			if prefix, _, found := strings.Cut(id2string(id), "_"); found && strings.HasSuffix(field, "_id") {
				arguments[field] = prefix + "_" + unknown
			}
		}
		missing := stranger.fails(fault.ResourceNotFound, name, arguments)
		hide := func(r result) string {
			return strings.NewReplacer(videoID, "ID", analysisID, "ID", "video_"+unknown, "ID", "an_"+unknown, "ID").Replace(r.at("error.message").(string))
		}
		require.Equal(t, hide(missing), hide(foreign), name)
	}
	require.Len(t, owner.do(http.MethodGet, "/v1/analyses", "").at("data"), 1)
}

func id2string(v any) string { s, _ := v.(string); return s }

// toolParams calls a tool without arguments.
func toolParams(name string) *sdk.CallToolParams { return &sdk.CallToolParams{Name: name} }

func TestPromptForPersons(t *testing.T) {
	t.Parallel()
	a := open(t, withTools).tester().agent()
	listed, err := a.session.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, listed.Prompts, 1)
	arguments := map[string]string{"video": "https://example.com/a.mp4", "question": "Is there a dog?"}
	got, err := a.session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "ask_about_video", Arguments: arguments})
	require.NoError(t, err)
	text := got.Messages[0].Content.(*sdk.TextContent).Text
	require.Contains(t, text, "https://example.com/a.mp4")
	require.Contains(t, text, "Is there a dog?")
	for _, bad := range []string{"", strings.Repeat("x", 9000)} {
		arguments["question"] = bad
		_, err = a.session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "ask_about_video", Arguments: arguments})
		require.ErrorContains(t, err, "question: send 1 to 8192 bytes")
	}
}
