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
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/media/fixture"
)

func TestPublicSurfaces(t *testing.T) {
	t.Parallel()
	w := open(t)
	index := w.do(http.MethodGet, "/", "")
	require.Equal(t, http.StatusOK, index.StatusCode)
	for name, link := range index.at("links").(map[string]any) {
		if name == "sandbox" {
			continue
		}
		got := w.do(http.MethodGet, strings.TrimPrefix(link.(string), w.url), "")
		require.Equal(t, http.StatusOK, got.StatusCode, name)
	}
	for _, path := range []string{"/robots.txt", "/docs/questions", "/docs/errors", "/metrics"} {
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, path, "").StatusCode, path)
	}

	contract := w.do(http.MethodGet, "/v1/openapi.json", "")
	require.Equal(t, w.url, contract.at("servers").([]any)[0].(map[string]any)["url"])
	errs := w.do(http.MethodGet, "/v1/errors", "").at("data").([]any)
	require.Len(t, errs, len(fault.Registry()))
	page := string(w.do(http.MethodGet, "/docs/errors", "").raw)
	for _, e := range errs {
		code := e.(map[string]any)["code"].(string)
		require.Equal(t, w.url+"/docs/errors#"+code, e.(map[string]any)["docs_url"])
		require.Contains(t, page, `id="`+code+`"`)
	}
	pricing := w.do(http.MethodGet, "/v1/credit-pricing", "")
	require.Contains(t, string(pricing.raw), `"price_per_second_cents":0.5`)
}

func TestEachFormOfQuestionHasAnAnchor(t *testing.T) {
	t.Parallel()
	w := open(t)
	page := string(w.do(http.MethodGet, "/docs/questions", "").raw)
	for _, intent := range []query.Intent{
		query.Presence, query.Absence, query.Count, query.CountThreshold, query.Action, query.Attribute, query.Location,
		query.State, query.Compound, query.Segment, query.OpenEnded,
	} {
		require.Contains(t, page, `id="`+string(intent)+`"`)
	}
}

func TestFixtureVideoIsServed(t *testing.T) {
	t.Parallel()
	w := open(t)
	described := w.do(http.MethodGet, "/v1/test-fixture", "")
	require.Equal(t, fixture.SHA256(), described.at("sha256"))
	path := strings.TrimPrefix(described.at("video_url").(string), w.url)
	require.Equal(t, fixture.Bytes(), w.do(http.MethodGet, path, "").raw)
	part := w.do(http.MethodGet, path, "", "Range", "bytes=4-7")
	require.Equal(t, http.StatusPartialContent, part.StatusCode)
	require.Equal(t, "ftyp", string(part.raw))
}

func TestSandboxKeyAnswersItsFixtureOnly(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.do(http.MethodPost, "/v1/sandbox", "")
	require.Equal(t, http.StatusCreated, got.StatusCode)
	require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	c := &client{w, command.IssuedKey{Secret: got.at("api_key").(string)}}
	ask := func(videoID, prompt string, headers ...string) response {
		return c.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": %q}`, videoID, prompt), headers...)
	}
	own := got.at("fixture_video_id").(string)
	a := ask(own, got.at("fixture_prompt").(string))
	require.Equal(t, http.StatusOK, a.StatusCode)
	require.Equal(t, got.at("expected_answer"), a.at("result.answer"))
	require.Equal(t, false, a.at("livemode"))
	require.EqualValues(t, 0, a.at("usage.billed_seconds"))

	w.refused(ask("video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "Is there a ball?"), 403, fault.TestKeyFixtureOnly, "")
	w.refused(ask(w.customer(60).ready(), "Is there a ball?"), 403, fault.TestKeyFixtureOnly, "")
	require.Nil(t, c.do(http.MethodGet, "/v1/videos/"+own, "").at("media"), "a fixture has no media")

	for range 2 {
		require.Equal(t, http.StatusCreated, w.do(http.MethodPost, "/v1/sandbox", "").StatusCode)
	}
	w.refused(w.do(http.MethodPost, "/v1/sandbox", ""), 429, fault.SandboxLimitExceeded, "")
}

func TestVideoFromUploadToDeletion(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "filename": "ball.mp4", "metadata": {"camera": "yard-1"}}`)
	require.Equal(t, http.StatusCreated, created.StatusCode)
	require.Equal(t, "awaiting_upload", created.at("status"))
	require.Equal(t, map[string]any{"camera": "yard-1"}, created.at("metadata"))
	path := "/v1/videos/" + created.at("id").(string)
	w.refused(c.do(http.MethodPost, path+"/complete", ""), 400, fault.UploadIncomplete, "")
	require.NotNil(t, c.do(http.MethodGet, path, "").at("upload"), "instructions are made on each read")

	c.upload(created, fixture.Bytes())
	done := c.do(http.MethodPost, path+"/complete", "")
	require.Equal(t, http.StatusOK, done.StatusCode, string(done.raw))
	require.Equal(t, "ready", done.at("status"))
	require.Nil(t, done.at("upload"))
	require.Nil(t, done.at("expires_at"))
	require.EqualValues(t, len(fixture.Bytes()), done.at("size_bytes"))
	media, err := http.Get(done.at("media.url").(string))
	require.NoError(t, err)
	require.NoError(t, media.Body.Close())
	require.Equal(t, http.StatusOK, media.StatusCode)
	require.Regexp(t, `^req_`, media.Header.Get("X-Request-Id"))

	gone := c.do(http.MethodDelete, path, "")
	require.Equal(t, true, gone.at("deleted"))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		w.refused(c.do(method, path, ""), 404, fault.ResourceNotFound, "")
	}
}

func TestVideoFromURLWaitsForItsFetch(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.customer(0).do(http.MethodPost, "/v1/videos", `{"url": "https://example.com/clip.MOV"}`)
	require.Equal(t, http.StatusCreated, got.StatusCode)
	require.Equal(t, "processing", got.at("status"))
	require.Equal(t, "url", got.at("source"))
	require.Equal(t, "video/quicktime", got.at("content_type"))
	require.Nil(t, got.at("upload"))
	require.Nil(t, got.at("expires_at"))
}

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
	require.NoError(t, w.service.ReportProgress(t.Context(), run, analysis.Analyzing, 40))
	require.EqualValues(t, 40, c.do(http.MethodGet, path, "").at("progress.percent"))
	result := fixture.Fixture{}.Answer(query.Compile("Is there a ball?"))
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, result, 6, 12))
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

func TestQuestionThatCannotBeAnsweredIsAnsweredAtOnce(t *testing.T) {
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
	w.refused(c.do(http.MethodPost, "/v1/analyses", unknown, "Prefer", "wait=121"), 400, fault.ValidationFailed, "Prefer")
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
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses/"+late.at("id").(string)+"/cancel", "").StatusCode)

	answered := make(chan response, 1)
	go func() { answered <- c.do(http.MethodPost, "/v1/analyses", body, "Prefer", "wait=60") }()
	require.Eventually(t, func() bool { return w.waiting() == 1 }, 10*time.Second, time.Millisecond)
	list := c.do(http.MethodGet, "/v1/analyses?status=queued", "").at("data").([]any)
	require.Len(t, list, 1)
	run := c.claim(videoID, list[0].(map[string]any)["id"].(string))
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, fixture.Fixture{}.Answer(query.Compile("Is there a ball?")), 6, 12))
	w.wake()
	got := <-answered
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, "completed", got.at("status"))
	require.Zero(t, w.waiting(), "the subscription ended")
}

func TestEventsFollowAnAnalysis(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	follow := func(lastID string) (*http.Response, func() (string, map[string]any)) {
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
		return got, func() (name string, data map[string]any) {
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
	got, next := follow("")
	require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	seen, first := next()
	require.Equal(t, "queued", first["status"])
	_, later := follow(seen)
	run := c.claim(videoID, analysisID)
	w.wake()
	_, second := next()
	require.Equal(t, "preparing", second["status"])
	_, resumed := later()
	require.Equal(t, "preparing", resumed["status"], "what was seen is not told again")
	require.NoError(t, w.service.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.InferenceError, Message: "m"}))
	w.wake()
	_, last := next()
	require.Equal(t, "failed", last["status"])
	_, over := next()
	require.Nil(t, over, "the stream ends after the terminal state")
}

func TestIdempotentCreates(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	const body = `{"content_type": "video/mp4", "filename": "a.mp4"}`
	first := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusCreated, first.StatusCode)
	again := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusCreated, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, string(first.raw), string(again.raw))
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/quicktime"}`, "Idempotency-Key", "k-1"), 409, fault.IdempotencyKeyReused, "")
	w.refused(c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k-1"), 409, fault.IdempotencyKeyReused, "")
	require.Len(t, c.do(http.MethodGet, "/v1/videos", "").at("data"), 1)

	w.refused(c.do(http.MethodPost, "/v1/videos", `{}`, "Idempotency-Key", "k-2"), 400, fault.ValidationFailed, "content_type")
	fixed := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-2")
	require.Equal(t, http.StatusCreated, fixed.StatusCode, "a refused request leaves the key free")

	other := w.customer(0).do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.Empty(t, other.Header.Get("Idempotency-Replayed"), "keys are those of an account")
	for _, key := range []string{"", "with space", strings.Repeat("k", 256), "é"} {
		w.refused(c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", key), 400, fault.ValidationFailed, "Idempotency-Key")
	}
	w.advance(25 * time.Hour)
	after := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.NotEqual(t, first.at("id"), after.at("id"), "the window is 24 hours")
}

func TestReplayAfterACrashShowsTheResource(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, videoID)
	first := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k-1")
	// What a program leaves that stops between its commit and its response.
	require.NoError(t, w.service.Store.SaveResponse(t.Context(), c.key.AccountID, "k-1", 0, nil))
	again := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusAccepted, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, first.at("id"), again.at("id"))
	require.Len(t, c.balance().Holds, 1)
}

func TestListsPageBothWays(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	var ids []string
	for range 5 {
		ids = append([]string{c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`).at("id").(string)}, ids...)
	}
	page := func(query string) ([]string, bool) {
		got := c.do(http.MethodGet, "/v1/videos?"+query, "")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		var list []string
		for _, item := range got.at("data").([]any) {
			list = append(list, item.(map[string]any)["id"].(string))
		}
		return list, got.at("has_more").(bool)
	}
	tests := map[string]struct {
		query string
		want  []string
		more  bool
	}{
		"all":                   {"", ids, false},
		"the first two":         {"limit=2", ids[:2], true},
		"after the second":      {"limit=2&starting_after=" + ids[1], ids[2:4], true},
		"the last":              {"limit=2&starting_after=" + ids[3], ids[4:], false},
		"before the third":      {"limit=2&ending_before=" + ids[2], ids[:2], false},
		"one before the third":  {"limit=1&ending_before=" + ids[2], ids[1:2], true},
		"in a status":           {"status=awaiting_upload", ids, false},
		"in no status":          {"status=ready", nil, false},
		"unknown parameters":    {"colour=red", ids, false},
		"before all":            {"created_before=2020-01-01T00:00:00Z", nil, false},
		"after a time, in zone": {"created_after=2020-01-01T00:00:00%2B02:00", ids, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, more := page(tt.query)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.more, more)
		})
	}
	stranger := w.customer(0)
	for query, want := range map[string]struct {
		param string
		code  fault.Code
	}{
		"limit=0":                        {"limit", fault.ValidationFailed},
		"limit=101":                      {"limit", fault.ValidationFailed},
		"limit=ten":                      {"limit", fault.ValidationFailed},
		"limit=":                         {"limit", fault.ValidationFailed},
		"limit=1&limit=2":                {"limit", fault.ValidationFailed},
		"status=lost":                    {"status", fault.ValidationFailed},
		"starting_after=video_x&limit=1": {"starting_after", fault.ValidationFailed},
		"starting_after=" + ids[0] + "&ending_before=" + ids[1]:    {"ending_before", fault.ValidationFailed},
		"created_after=yesterday":                                  {"created_after", fault.ValidationFailed},
		"starting_after=video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A&limit=20": {"", fault.ResourceNotFound},
	} {
		status := fault.Lookup(want.code).Status
		w.refused(c.do(http.MethodGet, "/v1/videos?"+query, ""), status, want.code, want.param)
	}
	w.refused(stranger.do(http.MethodGet, "/v1/videos?starting_after="+ids[0], ""), 404, fault.ResourceNotFound, "")
}

func TestAnalysisListsFilter(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	one, two := c.ready(), c.ready()
	a, b := c.ask(one, "Is there a dog?"), c.ask(two, "Is there a cat?")
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses/"+b+"/cancel", "").StatusCode)
	tests := map[string][]string{
		"/v1/analyses":                                           {b, a},
		"/v1/analyses?video_id=" + one:                           {a},
		"/v1/videos/" + two + "/analyses":                        {b},
		"/v1/videos/" + two + "/analyses?status=queued":          nil,
		"/v1/analyses?status=canceled":                           {b},
		"/v1/analyses?model=SIGHT-0":                             {b, a},
		"/v1/analyses?model=sight-9":                             nil,
		"/v1/analyses?video_id=video_" + strings.Repeat("0", 26): nil,
	}
	for path, want := range tests {
		var got []string
		for _, item := range c.do(http.MethodGet, path, "").at("data").([]any) {
			got = append(got, item.(map[string]any)["id"].(string))
		}
		require.Equal(t, want, got, path)
	}
	w.refused(c.do(http.MethodGet, "/v1/analyses?model=%ff", ""), 400, fault.ValidationFailed, "model")
	w.refused(c.do(http.MethodGet, "/v1/analyses?model=a%00", ""), 400, fault.ValidationFailed, "model")
	w.refused(c.do(http.MethodGet, "/v1/analyses?status=done", ""), 400, fault.ValidationFailed, "status")
	w.refused(c.do(http.MethodGet, "/v1/analyses?video_id=1", ""), 400, fault.ValidationFailed, "video_id")
	w.refused(c.do(http.MethodGet, "/v1/credits?kind=gift", ""), 400, fault.ValidationFailed, "kind")
}

func TestIdsOfAnotherAccountReadAsUnknown(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner, stranger, tester := w.customer(100), w.customer(100), w.tester()
	videoID := owner.ready()
	analysisID := owner.ask(videoID, "Is there a dog?")
	for _, tt := range []struct{ method, path string }{
		{http.MethodGet, "/v1/videos/%s"}, {http.MethodDelete, "/v1/videos/%s"}, {http.MethodPost, "/v1/videos/%s/complete"},
		{http.MethodGet, "/v1/videos/%s/analyses"}, {http.MethodGet, "/v1/analyses/%s"},
		{http.MethodPost, "/v1/analyses/%s/cancel"}, {http.MethodGet, "/v1/analyses/%s/events"},
	} {
		own, prefix := videoID, "video"
		if strings.HasPrefix(tt.path, "/v1/analyses") {
			own, prefix = analysisID, "an"
		}
		unknown := id.NewSource(time.Now, strings.NewReader(strings.Repeat("x", 64))).New(id.Prefix(prefix))
		for _, c := range []*client{stranger, tester} {
			foreign := c.do(tt.method, fmt.Sprintf(tt.path, own), "")
			absent := c.do(tt.method, fmt.Sprintf(tt.path, unknown), "")
			w.refused(foreign, 404, fault.ResourceNotFound, "")
			w.refused(absent, 404, fault.ResourceNotFound, "")
			require.Equal(t, foreign.at("error.message"), absent.at("error.message"))
		}
		for _, malformed := range []string{"x", "video_", "%00", "%ff", "..%2f", strings.Repeat("v", 300)} {
			w.refused(owner.do(tt.method, fmt.Sprintf(tt.path, malformed), ""), 404, fault.ResourceNotFound, "")
		}
	}
	require.Equal(t, "queued", owner.do(http.MethodGet, "/v1/analyses/"+analysisID, "").at("status"))
}

func TestKeysThatOpenNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	get := func(header string) response {
		return w.do(http.MethodGet, "/v1/videos", "", "Authorization", header)
	}
	w.refused(w.do(http.MethodGet, "/v1/videos", ""), 401, fault.InvalidAPIKey, "")
	w.refused(get("Bearer svc_live_unknown"), 401, fault.InvalidAPIKey, "")
	w.refused(get("Bearer "+c.key.Secret+"x"), 401, fault.InvalidAPIKey, "")
	w.refused(get("Basic "+c.key.Secret), 401, fault.InvalidAPIKey, "")
	// The key is judged before the request is.
	w.refused(w.do(http.MethodPost, "/v1/videos?limit=x", `{`), 401, fault.InvalidAPIKey, "")
	require.Equal(t, "Bearer", get("").Header.Get("WWW-Authenticate"))
	require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, c.key.KeyID, "test"))
	w.refused(c.do(http.MethodGet, "/v1/videos", ""), 401, fault.KeyRevoked, "")

	sandbox := w.do(http.MethodPost, "/v1/sandbox", "")
	w.advance(7*24*time.Hour + time.Second)
	w.refused(get("Bearer "+sandbox.at("api_key").(string)), 401, fault.KeyExpired, "")
	require.NotContains(t, w.logged.String(), c.key.Secret)
}

func TestRoutesOutsideTheContract(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.refused(w.do(http.MethodGet, "/v1/nothing", ""), 404, fault.ResourceNotFound, "")
	w.refused(w.do(http.MethodGet, "/v1/videos/", ""), 404, fault.ResourceNotFound, "")
	got := w.do(http.MethodPut, "/v1/videos", "")
	w.refused(got, 405, fault.ValidationFailed, "")
	require.Equal(t, "GET, POST, HEAD", got.Header.Get("Allow"))
	head := w.do(http.MethodHead, "/v1/errors", "")
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.Empty(t, head.raw)
	secret := w.do(http.MethodGet, "/objects/uploads/video_x?signature=hunter2", "")
	require.Equal(t, http.StatusForbidden, secret.StatusCode)
	require.NotContains(t, w.logged.String(), "hunter2")
}

func TestBodiesAtTheEdge(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type":`), 400, fault.ValidationFailed, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", ""), 400, fault.ValidationFailed, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", "a=b", "Content-Type", "application/x-www-form-urlencoded"), 415, fault.UnsupportedMediaType, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", strings.Repeat(" ", 1<<20+1)), 413, fault.PayloadTooLarge, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "size_bytes": 2147483649}`), 400, fault.VideoTooLarge, "size_bytes")
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"url": "http://example.com/a.mp4"}`), 400, fault.URLForbidden, "url")
	all := c.do(http.MethodPost, "/v1/videos", `{"extra": 1, "filename": 2, "content_type": "x"}`)
	require.Len(t, all.at("error.errors"), 3)
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("hunter2") })
	})
	got := w.do(http.MethodGet, "/metrics", "")
	w.refused(got, 500, fault.InternalError, "")
	require.NotContains(t, string(got.raw), "hunter2")
	require.Contains(t, w.logged.String(), "hunter2")
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/healthz", "").StatusCode, "the service goes on")
}

func TestLostDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	w.database.pull()
	w.refused(c.do(http.MethodGet, "/v1/videos", ""), 503, fault.DBUnavailable, "")
	w.refused(w.do(http.MethodGet, "/readyz", ""), 503, fault.DBUnavailable, "")
	w.refused(w.do(http.MethodPost, "/v1/sandbox", ""), 503, fault.DBUnavailable, "")
}
