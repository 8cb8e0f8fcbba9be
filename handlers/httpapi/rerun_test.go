package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/eventstore/fold"
	"vqa/handlers/intake/fixture"
)

func yesResult() answer.Result { return fixture.Fixture{}.Answer(english.Compile("Is there a ball?")) }

// failedInIncident returns an analysis that failed during an incident.
func (c *client) failedInIncident(videoID string) string {
	c.w.t.Helper()
	ctx := c.w.t.Context()
	incident, err := c.w.service.OpenIncident(ctx, "The engine is down", "test")
	require.NoError(c.w.t, err)
	analysisID := c.ask(videoID, "Is there a dog?")
	run := c.claim(videoID, analysisID)
	require.NoError(c.w.t, c.w.service.FailAnalysis(ctx, run, analysis.Failure{Code: fault.InferenceError, Message: "The model failed."}))
	_, err = c.w.service.CloseIncident(ctx, incident.ID, "test")
	require.NoError(c.w.t, err)
	return analysisID
}

func TestRerunAfterAnIncident(t *testing.T) {
	t.Parallel()
	w := open(t)
	c, stranger := w.customer(10), w.customer(10)
	videoID := c.ready()
	originalID := c.failedInIncident(videoID)
	path := "/v1/analyses/" + originalID
	original := c.do(http.MethodGet, path, "")
	require.Equal(t, true, original.at("rerun_eligible"))
	w.refused(stranger.do(http.MethodPost, path+"/rerun", ""), 404, fault.ResourceNotFound, "")
	w.refused(c.do(http.MethodPost, "/v1/analyses/an_1/rerun", ""), 404, fault.ResourceNotFound, "")

	w.engine.set(true)
	w.refused(c.do(http.MethodPost, path+"/rerun", ""), 503, fault.InferenceUnavailable, "")
	w.engine.set(false)
	got := c.do(http.MethodPost, path+"/rerun", "", "Idempotency-Key", "r-1")
	require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
	require.NotEqual(t, originalID, got.at("id"))
	require.Equal(t, "queued", got.at("status"))
	require.EqualValues(t, 1, got.at("queue_position"))
	for _, same := range []string{"video_id", "prompt", "query", "model", "options", "metadata", "parse_mode", "origin"} {
		require.Equal(t, original.at(same), got.at(same), same)
	}
	replayed := c.do(http.MethodPost, path+"/rerun", "", "Idempotency-Key", "r-1")
	require.Equal(t, got.at("id"), replayed.at("id"))
	w.refused(c.do(http.MethodPost, path+"/rerun", ""), 409, fault.RerunNotEligible, "")
	require.JSONEq(t, string(original.raw), string(c.do(http.MethodGet, path, "").raw), "the original is unchanged")
	credits := c.do(http.MethodGet, "/v1/credits", "")
	require.EqualValues(t, 0, credits.at("held_seconds"))
	require.Empty(t, credits.at("holds"), "nothing is held")

	run := c.claim(videoID, got.at("id").(string))
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, yesResult(), 6_000_000, 12, nil))
	done := c.do(http.MethodGet, "/v1/analyses/"+run.AnalysisID, "")
	require.Equal(t, "completed", done.at("status"))
	require.Nil(t, done.at("usage"))
	require.Contains(t, done.json, "usage")
	credits = c.do(http.MethodGet, "/v1/credits", "")
	require.EqualValues(t, 10, credits.at("balance_seconds"))
	require.Empty(t, c.do(http.MethodGet, "/v1/credits?kind=analysis_debit", "").at("transactions"))
}

func TestParse(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	parse := `{"prompt": "How many dogs are there?"}`
	for name, got := range map[string]response{
		"with a key": c.do(http.MethodPost, "/v1/parse", parse), "without one": w.do(http.MethodPost, "/v1/parse", parse),
	} {
		require.Equal(t, http.StatusOK, got.StatusCode, "%s: %s", name, got.raw)
		require.Equal(t, "heuristic", got.at("parse_mode"))
		require.Equal(t, "count", got.at("compiled_query.prompt_intent"))
	}
	w.refused(w.do(http.MethodPost, "/v1/parse", parse, "Authorization", "Bearer svc_live_nonsense"), 401, fault.InvalidAPIKey, "")
	long := make([]byte, 2001)
	for i := range long {
		long[i] = 'a'
	}
	for body, want := range map[string]struct {
		status int
		code   fault.Code
	}{
		`{}`: {400, fault.EmptyPrompt}, `{"prompt": ""}`: {400, fault.EmptyPrompt}, `{"prompt": "  "}`: {400, fault.EmptyPrompt},
		`{"prompt": 7}`:                      {400, fault.ValidationFailed},
		`{"prompt": "dog", "model": "x"}`:    {400, fault.ValidationFailed},
		`{"prompt": "` + string(long) + `"}`: {400, fault.PromptTooLong}, `{"prompt": "?!"}`: {422, fault.ParseFailed},
	} {
		w.refused(w.do(http.MethodPost, "/v1/parse", body), want.status, want.code, "")
	}
	videoID := c.ready()
	w.refused(c.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": "…"}`, videoID)), 422, fault.ParseFailed, "prompt")
}

// TestWebhookOverride accepts a public https URL and never shows it.
func TestWebhookOverride(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	questions := map[string]string{
		"/v1/analyses": `"prompt": "Is there a dog?"`, "/v1/analyses/batch": `"prompts": ["Is there a dog?", "Is there a cat?"]`,
	}
	for path, question := range questions {
		ask := func(webhook string) response {
			return c.do(http.MethodPost, path, fmt.Sprintf(`{"video_id": %q, %s, "webhook": %s}`, videoID, question, webhook))
		}
		for _, forbidden := range []string{"http://hooks.example.com/", "https://127.0.0.1/", "https://localhost/x?token=secret"} {
			w.refused(ask(fmt.Sprintf(`{"url": %q}`, forbidden)), 400, fault.URLForbidden, "webhook.url")
		}
		for _, malformed := range []string{`{}`, `"https://hooks.example.com"`, `{"url": "https://hooks.example.com", "events": ["video.lost"]}`, `{"url": ""}`} {
			w.refused(ask(malformed), 400, fault.ValidationFailed, "")
		}
		got := ask(`{"url": "https://hooks.example.com/x?token=secret", "events": ["analysis.completed"]}`)
		require.Equal(t, 202, got.StatusCode, string(got.raw))
		require.NotContains(t, string(got.raw), "hooks.example.com")
	}
	require.NotContains(t, w.logged.String(), "token=secret")
	list := c.do(http.MethodGet, "/v1/analyses", "")
	require.Len(t, list.items(), 3)
	require.NotContains(t, string(list.raw), "hooks.example.com")
	for _, item := range list.items() {
		recorded, err := w.service.Store.LoadAll(t.Context(), fold.Analysis.Stream(item["id"].(string)))
		require.NoError(t, err)
		require.Equal(t, &analysis.Webhook{URL: "https://hooks.example.com/x?token=secret", Events: []string{"analysis.completed"}},
			recorded[0].Event.(analysis.Created).Webhook)
	}
}

func TestUsageMeters(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	w.service.Limits.QuotaSecondsPerMonth = 20
	videoID := c.ready()
	meters := func(c *client) map[string]map[string]any {
		out := map[string]map[string]any{}
		for _, item := range c.do(http.MethodGet, "/v1/usage", "").at("meters").([]any) {
			m := item.(map[string]any)
			out[m["meter"].(string)] = m
		}
		return out
	}
	now := w.now()
	resets := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	require.Equal(t, map[string]map[string]any{
		"credit_seconds":           {"meter": "credit_seconds", "unit": "seconds", "limit": nil, "balance": 100.0},
		"seconds_processed.period": {"meter": "seconds_processed.period", "unit": "seconds", "limit": 20.0, "used": 0.0, "resets_at": resets},
		"analyses.period":          {"meter": "analyses.period", "unit": "analyses", "limit": nil, "used": 0.0, "resets_at": resets},
		"analyses.active":          {"meter": "analyses.active", "unit": "analyses", "limit": 10.0, "used": 0.0},
		"storage_bytes":            {"meter": "storage_bytes", "unit": "bytes", "limit": nil, "used": float64(len(fixture.Bytes()))},
	}, meters(c))

	done := c.ask(videoID, "Is there a dog?")
	run := c.claim(videoID, done)
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, yesResult(), 6_000_000, 12, nil))
	c.ask(videoID, "Is there a cat?")
	billed := c.do(http.MethodGet, "/v1/analyses/"+done, "").at("usage.billed_seconds").(float64)
	require.Positive(t, billed)
	got := meters(c)
	require.InDelta(t, billed, got["seconds_processed.period"]["used"], 0)
	require.InDelta(t, 100-billed, got["credit_seconds"]["balance"], 0)
	require.InDelta(t, 2, got["analyses.period"]["used"], 0)
	require.InDelta(t, 1, got["analyses.active"]["used"], 0)
	usage := c.do(http.MethodGet, "/v1/usage", "")
	require.InDelta(t, billed, usage.at("seconds_processed"), 0, "the deprecated fields have the same values")
	require.InDelta(t, 100-billed, usage.at("credits_remaining"), 0)
	require.InDelta(t, billed, usage.at("credits_used"), 0)
	require.InDelta(t, 2, usage.at("analyses_count"), 0)
	require.Equal(t, resets, usage.at("period_end"))

	for got := c.batch(videoID, twoPrompts, ""); ; got = c.batch(videoID, twoPrompts, "") {
		if got.StatusCode == http.StatusAccepted {
			continue
		}
		w.refused(got, 429, fault.QuotaExceeded, "")
		require.Equal(t, "seconds_processed.period", got.at("error.details.meter"))
		require.Regexp(t, "^[1-9][0-9]*$", got.Header.Get("Retry-After"))
		break
	}
	tester := w.tester()
	require.Equal(t, http.StatusAccepted, tester.batch(tester.key.FixtureVideoID, twoPrompts, "").StatusCode)
	require.InDelta(t, 0, meters(tester)["analyses.period"]["used"], 0, "test mode uses no quota")
}
