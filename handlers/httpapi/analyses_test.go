package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/intake/fixture"
	"vqa/projections/resources"
)

func TestAnalysisFromQueueToBill(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	path := "/v1/analyses/" + analysisID
	queued := c.do(http.MethodGet, path, "")
	require.EqualValues(t, 1, queued.at("queue_position"))
	require.Equal(t, "queued", queued.at("progress.stage"))
	require.Nil(t, queued.at("usage"))
	w.refused(c.do(http.MethodDelete, "/v1/videos/"+videoID, ""), 409, fault.ResourceConflict, "")
	credits := c.do(http.MethodGet, "/v1/credits", "")
	require.Len(t, credits.at("holds"), 1)
	require.EqualValues(t, c.balance().AvailableSeconds(), credits.at("available_seconds"))

	run := c.claim(videoID, analysisID)
	require.NoError(t, w.service.ReportProgress(t.Context(), run, analysis.Analyzing, 2))
	require.EqualValues(t, 2, c.do(http.MethodGet, path, "").at("progress.percent"))
	w.report(run, 40)
	require.EqualValues(t, 40, c.do(http.MethodGet, path, "").at("progress.percent"))
	result := fixture.Fixture{}.Answer(english.Compile("Is there a ball?"))
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, result, 6_000_000, 12, nil))
	done := c.do(http.MethodGet, path, "")
	require.Equal(t, "completed", done.at("status"))
	require.Nil(t, done.at("progress"))
	require.NotContains(t, done.json, "rerun_eligible")
	require.NotContains(t, done.at("result"), "unsupported_action")
	w.refused(c.do(http.MethodPost, path+"/cancel", ""), 409, fault.AnalysisNotCancelable, "")

	credits = c.do(http.MethodGet, "/v1/credits?kind=analysis_debit", "")
	require.Len(t, credits.at("transactions"), 1)
	debit := credits.at("transactions").([]any)[0].(map[string]any)
	require.Equal(t, analysisID, debit["source_id"])
	require.Equal(t, done.at("usage.credit_balance_after"), debit["balance_after_seconds"])
	require.EqualValues(t, 100-credits.at("used_seconds").(float64), credits.at("balance_seconds"))
	require.EqualValues(t, 100, credits.at("grant_seconds"))
}

func TestFailedAnalysisSaysWhy(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	run := c.claim(videoID, analysisID)
	require.NoError(t, w.service.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.InferenceError, Message: "The model failed."}))
	got := c.do(http.MethodGet, "/v1/analyses/"+analysisID, "")
	require.Equal(t, "inference_error", got.at("error.code"))
	require.Equal(t, false, got.at("rerun_eligible"))
	require.EqualValues(t, 0, got.at("usage.billed_seconds"))
}

func TestUnsupportedQuestionIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "What is the meaning of this film?"}`, videoID)
	got := c.do(http.MethodPost, "/v1/analyses", body)
	require.Equal(t, http.StatusAccepted, got.StatusCode)
	require.Equal(t, "completed", got.at("status"))
	require.Equal(t, "indeterminate", got.at("result.answer"))
	require.Regexp(t, "^"+w.url+"/docs/questions#", got.at("result.unsupported_action.docs_url"))
	require.EqualValues(t, 0, got.at("usage.billed_seconds"))
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses", body, "Prefer", "wait=5").StatusCode)
}

func TestPreviewCreatesNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "How many dogs are there?", "validate_only": true}`, videoID)
	got := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "preview-1")
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, "analysis_preview", got.at("object"))
	seconds := got.at("estimated_seconds").(float64)
	require.InDelta(t, seconds*0.005, got.at("estimated_cost_usd"), 1e-12)
	require.Empty(t, c.do(http.MethodGet, "/v1/analyses", "").at("data"))
	require.Zero(t, c.balance().HeldSeconds)
	again := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "preview-1")
	require.Empty(t, again.Header.Get("Idempotency-Replayed"), "a preview is not stored")
}

func TestRefusalsOfACreate(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1)
	videoID := c.ready()
	ask := func(fields string) response {
		return c.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, %s}`, videoID, fields))
	}
	poor := ask(`"prompt": "Is there a dog?"`)
	w.refused(poor, 402, fault.InsufficientCredits, "")
	require.Equal(t, "credit_seconds", poor.at("error.details.meter"))
	w.refused(ask(`"prompt": "Is there a dog?", "model": "sight-9"`), 400, fault.ModelNotFound, "model")
	w.refused(ask(`"prompt": ""`), 400, fault.PromptEmpty, "prompt")
	unknown := `{"video_id": "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "prompt": "Is there a dog?"}`
	w.refused(c.do(http.MethodPost, "/v1/analyses", unknown), 404, fault.ResourceNotFound, "")
	w.refused(c.do(http.MethodPost, "/v1/analyses", `{"video_id": "nonsense", "prompt": "Is there a dog?"}`), 404, fault.ResourceNotFound, "")
	w.engine.set(true)
	down := ask(`"prompt": "Is there a dog?"`)
	w.refused(down, 503, fault.InferenceUnavailable, "")
	require.Equal(t, "3", down.Header.Get("Retry-After"))
	w.refused(w.do(http.MethodGet, "/readyz", ""), 503, fault.InferenceUnavailable, "")
}

func TestWaitEndsWithTheAnalysis(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, videoID)

	late := c.do(http.MethodPost, "/v1/analyses", body, "Prefer", "wait=1")
	require.Equal(t, http.StatusAccepted, late.StatusCode)
	require.Equal(t, "wait=1", late.Header.Get("Preference-Applied"))
	for _, malformed := range []string{"wait=soon", "wait=-5", "wait=0", "wait", "=;,"} {
		got := c.do(http.MethodPost, "/v1/analyses", body, "Prefer", malformed)
		require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
		require.Empty(t, got.Header.Get("Preference-Applied"), malformed)
		require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses/"+got.at("id").(string)+"/cancel", "").StatusCode)
	}
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses/"+late.at("id").(string)+"/cancel", "").StatusCode)

	answered := make(chan response, 1)
	go func() { answered <- c.do(http.MethodPost, "/v1/analyses", body, "Prefer", "wait=600") }()
	require.Eventually(t, func() bool { return w.waiting() == 1 }, 10*time.Second, time.Millisecond)
	list := c.do(http.MethodGet, "/v1/analyses?status=queued", "").at("data").([]any)
	require.Len(t, list, 1)
	run := c.claim(videoID, list[0].(map[string]any)["id"].(string))
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, fixture.Fixture{}.Answer(english.Compile("Is there a ball?")), 6_000_000, 12, nil))
	w.wake()
	got := <-answered
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, "completed", got.at("status"))
	require.Equal(t, "wait=120", got.Header.Get("Preference-Applied"))
	require.Zero(t, w.waiting(), "the subscription ended")
}

// report reports the percent of a running analysis.
func (w *world) report(run command.Run, percent int) {
	w.t.Helper()
	current, err := resources.NewProgress(w.pool).Report(w.t.Context(), run.AnalysisID, run.Attempt, percent)
	require.NoError(w.t, err)
	require.True(w.t, current)
}

func TestEventsFollowAnAnalysis(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	follow := func(lastID string) (http.Header, func() (string, map[string]any)) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/analyses/"+analysisID+"/events", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+c.key.Secret)
		if lastID != "" {
			r.Header.Set("Last-Event-ID", lastID)
		}
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = got.Body.Close() })
		lines := bufio.NewScanner(got.Body)
		return got.Header, func() (name string, data map[string]any) {
			for lines.Scan() {
				field, value, _ := strings.Cut(lines.Text(), ": ")
				switch {
				case field == "id":
					name = value
				case field == "data":
					require.NoError(t, json.Unmarshal([]byte(value), &data))
				case lines.Text() == "" && data != nil:
					return name, data
				}
			}
			return "", nil
		}
	}
	header, next := follow("")
	require.Equal(t, "text/event-stream", header.Get("Content-Type"))
	seen, first := next()
	require.Equal(t, "queued", first["status"])
	_, later := follow(seen)
	run := c.claim(videoID, analysisID)
	w.wake()
	_, second := next()
	require.Equal(t, "preparing", second["status"])
	_, resumed := later()
	require.Equal(t, "preparing", resumed["status"], "a known state is not sent again")
	w.report(run, 30) // without a signal, as on another node
	for _, next := range []func() (string, map[string]any){next, later} {
		_, moved := next()
		require.EqualValues(t, 30, moved["progress"].(map[string]any)["percent"])
	}
	require.NoError(t, w.service.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.InferenceError, Message: "m"}))
	w.wake()
	_, last := next()
	require.Equal(t, "failed", last["status"])
	_, over := next()
	require.Nil(t, over, "the stream ends after the terminal state")
}

// TestNothingDetectedCountsZeroInOldResults: results from before result rule 4 covered every
// form have no count. Responses show 0 (docs/contract.md#result-4).
func TestNothingDetectedCountsZeroInOldResults(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	run := c.claim(videoID, analysisID)
	old := answer.Result{Answer: answer.Indeterminate, QueryType: query.TypeObject, IndeterminateReason: new(query.NothingDetected)}
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, old, 6, 12, nil))
	got := c.do(http.MethodGet, "/v1/analyses/"+analysisID, "")
	require.Equal(t, "nothing_detected", got.at("result.indeterminate_reason"))
	require.EqualValues(t, 0, got.at("result.detected_count"))
	require.NotNil(t, got.at("result.detected_count"))
	require.Equal(t, []any{}, got.at("result.count_evidence"))
}

// TestCountEvidenceIsKeptAndShown follows the intervals of a count through the log and the
// read model.
func TestCountEvidenceIsKeptAndShown(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "How many dogs are there?")
	result := answer.Result{
		Answer: answer.Yes, Confidence: .9, QueryType: query.TypeObject, DetectedCount: new(2),
		CountEvidence: []answer.Clip{{StartS: 1, EndS: 2.5, Confidence: .8, Terms: map[string]float64{"dog": .9}}},
	}
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), c.claim(videoID, analysisID), result, 6, 12, nil))
	got := c.do(http.MethodGet, "/v1/analyses/"+analysisID, "")
	require.Equal(t, []any{map[string]any{"start_s": 1., "end_s": 2.5, "confidence": .8, "terms": map[string]any{"dog": .9}}}, got.at("result.count_evidence"))
	require.Equal(t, []any{}, got.at("result.clips"))
}

// TestASubjectThatTheModelDoesNotKnow: the preview names the subject, and the analysis is free.
func TestASubjectThatTheModelDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) {
		o.Service.Catalog[0].Capabilities.Vocabulary = vocabulary.COCO().Names()
	})
	c := w.customer(1000)
	videoID := c.ready()
	ask := func(prompt, rest string) response {
		return c.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": %q%s}`, videoID, prompt, rest))
	}
	before := c.balance()
	for _, prompt := range []string{
		"Is there a unicorn?", "How many unicorns are there?", "Is there a unicorn or a dragon?", "Are there at least 2 unicorns?",
	} {
		preview := ask(prompt, `, "validate_only": true`)
		require.Equal(t, []any{200, false, 0.0}, []any{preview.StatusCode, preview.at("assessable"), preview.at("estimated_seconds")}, string(preview.raw))
		require.Contains(t, preview.at("note"), `does not know "unicorn"`)
		require.Equal(t, []any{"Is there a person?"}, preview.at("suggestions"))
		got := ask(prompt, "")
		require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
		require.Equal(t, []any{"completed", "indeterminate", "nothing_detected", 0.0, 0.0, 0.0}, []any{
			got.at("status"), got.at("result.answer"), got.at("result.indeterminate_reason"), got.at("result.confidence"),
			got.at("result.detected_count"), got.at("usage.billed_seconds"),
		}, "%s: %s", prompt, got.raw)
		require.NotContains(t, got.at("result"), "unsupported_action")
	}
	require.Equal(t, before, c.balance(), "nothing was held or billed")

	for _, prompt := range []string{"Is there a dog?", "Is there a puppy?", "Is anyone there?"} {
		preview := ask(prompt, `, "validate_only": true`)
		require.Equal(t, []any{true, nil}, []any{preview.at("assessable"), preview.at("note")}, string(preview.raw))
	}
	mixed := ask("Is there a dog or a unicorn?", `, "validate_only": true`)
	require.Equal(t, true, mixed.at("assessable"), string(mixed.raw))
	require.Contains(t, mixed.at("note"), `"unicorn"`)
	require.NotContains(t, string(mixed.raw), "suggestions", "the dog is enough for an answer")
	refused := ask("How many fluffy dogs are there?", "")
	require.Equal(t, "How many dogs are there?", refused.at("suggestions.0"))
	require.Equal(t, "queued", ask("Is there a dog or a unicorn?", "").at("status"), "the dog is enough for an answer")

	batch := c.do(http.MethodPost, "/v1/analyses/batch", fmt.Sprintf(`{"video_id": %q, "prompts": ["Is there a unicorn?", "Is there a dog?"]}`, videoID))
	require.Equal(t, http.StatusAccepted, batch.StatusCode, string(batch.raw))
	statuses := []any{}
	for _, a := range batch.at("analyses").([]any) {
		statuses = append(statuses, a.(map[string]any)["status"])
	}
	require.Equal(t, []any{"completed", "queued"}, statuses)
}
