package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// batch sends prompts about a video. fields are additional members of the body.
func (c *client) batch(videoID string, prompts []string, fields string, headers ...string) response {
	c.w.t.Helper()
	list, err := json.Marshal(prompts)
	require.NoError(c.w.t, err)
	return c.do(http.MethodPost, "/v1/analyses/batch", fmt.Sprintf(`{"video_id": %q, "prompts": %s%s}`, videoID, list, fields), headers...)
}

var twoPrompts = []string{"Is there a dog?", "How many cats are there?"}

func TestBatchFromQuestionsToBill(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	full := c.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?", "validate_only": true}`, videoID)).
		at("estimated_seconds").(float64)
	half := float64(int64(full) / 2)

	preview := c.batch(videoID, append(twoPrompts, "Why?"), `, "validate_only": true`)
	require.Equal(t, http.StatusOK, preview.StatusCode, string(preview.raw))
	require.Equal(t, "analysis_batch_preview", preview.at("object"))
	for i, want := range []struct {
		assessable        bool
		seconds, discount float64
	}{{true, full, 0}, {true, half, 50}, {false, 0, 50}} {
		got := preview.at("prompts").([]any)[i].(map[string]any)
		require.EqualValues(t, i, got["index"])
		require.Equal(t, want.assessable, got["assessable"])
		require.InDelta(t, want.seconds, got["estimated_seconds"], 0)
		require.InDelta(t, want.discount, got["discount_pct"], 0)
		require.InDelta(t, want.seconds*0.005, got["estimated_cost_usd"], 1e-12)
	}
	require.Empty(t, c.do(http.MethodGet, "/v1/analyses", "").at("data"), "a preview creates nothing")
	require.Zero(t, c.balance().HeldSeconds)

	got := c.batch(videoID, twoPrompts, `, "metadata": {"a": "b"}`)
	require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
	require.Regexp(t, "^batch_", got.at("id"))
	require.Equal(t, videoID, got.at("video_id"))
	require.Equal(t, map[string]any{
		"full_price_prompts": 1.0, "discounted_prompts": 1.0, "discount_pct": 50.0,
		"estimated_total_seconds": full + half, "estimated_total_cost_usd": (full + half) * 0.005,
	}, got.at("pricing"))
	for i, item := range got.at("analyses").([]any) {
		a := item.(map[string]any)
		require.Equal(t, twoPrompts[i], a["prompt"])
		require.EqualValues(t, i+1, a["queue_position"])
		require.Equal(t, map[string]any{"a": "b"}, a["metadata"])
		one := c.do(http.MethodGet, "/v1/analyses/"+a["id"].(string), "")
		require.Equal(t, "queued", one.at("status"))
	}
	credits := c.do(http.MethodGet, "/v1/credits", "")
	require.InDelta(t, full+half, credits.at("held_seconds"), 0)
	require.EqualValues(t, 50, credits.at("holds").([]any)[0].(map[string]any)["discount_pct"], "newest first")
	require.EqualValues(t, 0, credits.at("holds").([]any)[1].(map[string]any)["discount_pct"])

	second := got.at("analyses").([]any)[1].(map[string]any)["id"].(string)
	run := c.claim(videoID, second)
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, yesResult(), 6_000_000, 12, nil))
	require.InDelta(t, half, c.do(http.MethodGet, "/v1/analyses/"+second, "").at("usage.billed_seconds"), 0)
	debit := c.do(http.MethodGet, "/v1/credits?kind=analysis_debit", "").at("transactions").([]any)[0].(map[string]any)
	require.EqualValues(t, 50, debit["discount_pct"])
	require.InDelta(t, -half, debit["seconds_delta"], 0)
}

func TestRefusalsOfABatch(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(8)
	videoID := c.ready()
	long := strings.Repeat("a", 2001)
	many := make([]string, 11)
	for i := range many {
		many[i] = "Is there a dog?"
	}
	for name, tt := range map[string]struct {
		prompts []string
		fields  string
		status  int
		code    fault.Code
		param   string
	}{
		"one prompt":       {twoPrompts[:1], "", 400, fault.ValidationFailed, "prompts"},
		"eleven prompts":   {many, "", 400, fault.ValidationFailed, "prompts"},
		"an empty prompt":  {[]string{"Is there a dog?", ""}, "", 400, fault.PromptEmpty, "prompts.1"},
		"a blank prompt":   {[]string{" \n", "Is there a dog?"}, "", 400, fault.PromptEmpty, "prompts.0"},
		"a long prompt":    {[]string{"Is there a dog?", "Is there a cat?", long}, "", 400, fault.PromptTooLong, "prompts.2"},
		"no words":         {[]string{"Is there a dog?", "?!"}, "", 422, fault.ParseFailed, "prompts.1"},
		"an unknown model": {twoPrompts, `, "model": "sight-9"`, 400, fault.ModelNotFound, "model"},
		"an unknown field": {twoPrompts, `, "prompt": "Is there a dog?"`, 400, fault.ValidationFailed, "prompt"},
		"too few credits":  {twoPrompts, "", 402, fault.InsufficientCredits, ""},
	} {
		got := c.batch(videoID, tt.prompts, tt.fields)
		require.Equal(t, tt.status, got.StatusCode, "%s: %s", name, got.raw)
		w.refused(got, tt.status, tt.code, tt.param)
	}
	w.refused(c.do(http.MethodPost, "/v1/analyses/batch", fmt.Sprintf(`{"video_id": %q}`, videoID)), 400, fault.ValidationFailed, "prompts")
	got := c.batch(videoID, []string{"", long, "Is there a dog?"}, "")
	w.refused(got, 400, fault.PromptEmpty, "prompts.0")
	require.Len(t, got.at("error.errors"), 2, "all violations at once")
	require.Empty(t, c.do(http.MethodGet, "/v1/analyses", "").at("data"))
	w.engine.set(true)
	w.refused(w.customer(100).batch(videoID, twoPrompts, ""), 503, fault.InferenceUnavailable, "")
}

func TestBatchIsIdempotent(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	first := c.batch(videoID, twoPrompts, "", "Idempotency-Key", "b-1")
	again := c.batch(videoID, twoPrompts, "", "Idempotency-Key", "b-1")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, first.StatusCode, again.StatusCode)
	require.JSONEq(t, string(first.raw), string(again.raw))
	w.refused(c.batch(videoID, append(twoPrompts, "Is there a cat?"), "", "Idempotency-Key", "b-1"), 409, fault.IdempotencyKeyReused, "")
	require.Len(t, c.do(http.MethodGet, "/v1/analyses", "").at("data"), 2)

	// After a crash between commit and response, the replay renders the batch again.
	_, err := w.pool.Exec(t.Context(), "update receipts set status = 0, body = ''")
	require.NoError(t, err)
	replayed := c.batch(videoID, twoPrompts, "", "Idempotency-Key", "b-1")
	require.Equal(t, "true", replayed.Header.Get("Idempotency-Replayed"))
	require.Equal(t, http.StatusAccepted, replayed.StatusCode)
	require.JSONEq(t, string(first.raw), string(replayed.raw))
}
