package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
)

// narrated creates an analysis with a narrative and returns the response.
func (c *client) narrated(videoID, prompt string) response {
	c.w.t.Helper()
	return c.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": %q, "options": {"narrative": true}}`, videoID, prompt))
}

// complete completes an analysis of the customer.
func (c *client) complete(videoID, analysisID string) command.Afterwork {
	c.w.t.Helper()
	run := c.claim(videoID, analysisID)
	require.NoError(c.w.t, c.w.service.CompleteAnalysis(c.w.t.Context(), run, yesResult(), 6_000_000, 12, nil))
	return command.Afterwork{AccountID: run.AccountID, AnalysisID: analysisID, Attempt: 1}
}

// stream reads server-sent events to their end.
func (c *client) stream(path string) string {
	c.w.t.Helper()
	r, err := http.NewRequestWithContext(c.w.t.Context(), http.MethodGet, c.w.url+path, nil)
	require.NoError(c.w.t, err)
	r.Header.Set("Authorization", "Bearer "+c.key.Secret)
	got, err := http.DefaultClient.Do(r)
	require.NoError(c.w.t, err)
	defer func() { require.NoError(c.w.t, got.Body.Close()) }()
	text, err := io.ReadAll(got.Body)
	require.NoError(c.w.t, err)
	return string(text)
}

func TestNarrativeComesAfterTheAnswer(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	created := c.narrated(videoID, "Is there a dog?")
	require.Equal(t, true, created.at("options.narrative"))
	require.Nil(t, created.at("narrative"), "there is no answer yet")
	analysisID := created.at("id").(string)
	path := "/v1/analyses/" + analysisID
	work := c.complete(videoID, analysisID)
	generating := map[string]any{"status": "generating", "entries": []any{}}
	require.Equal(t, generating, c.do(http.MethodGet, path, "").at("narrative"))
	require.Equal(t, 1, strings.Count(c.stream(path+"/events"), "event: analysis"), "the stream ends with the answer")
	before := c.balance()

	require.NoError(t, w.service.RecordNarrative(t.Context(), work, []analysis.NarrativeEntry{{AtS: 1.5, Text: "A dog enters from the left."}}))
	ready := map[string]any{"status": "ready", "entries": []any{map[string]any{"t_s": 1.5, "text": "A dog enters from the left."}}}
	require.Equal(t, ready, c.do(http.MethodGet, path, "").at("narrative"))
	require.Equal(t, ready, c.do(http.MethodGet, "/v1/analyses", "").at("data").([]any)[0].(map[string]any)["narrative"])
	require.Equal(t, before, c.balance(), "a narrative is free")
	events := c.do(http.MethodGet, "/v1/events?resource_id="+analysisID, "").at("data").([]any)
	require.Len(t, events, 1, "the feed has no event for a ready narrative")
	require.Equal(t, generating, events[0].(map[string]any)["data"].(map[string]any)["narrative"], "the state right after the event")

	analysisID = c.narrated(videoID, "Is there a dog?").at("id").(string)
	require.NoError(t, w.service.FailNarrative(t.Context(), c.complete(videoID, analysisID)))
	require.Equal(t, map[string]any{"status": "failed", "entries": []any{}}, c.do(http.MethodGet, "/v1/analyses/"+analysisID, "").at("narrative"))

	analysisID = c.ask(videoID, "Is there a dog?")
	c.complete(videoID, analysisID)
	require.Nil(t, c.do(http.MethodGet, "/v1/analyses/"+analysisID, "").at("narrative"), "the request did not ask for a narrative")
}

func TestNarrativeOfAnImmediateAnswer(t *testing.T) {
	t.Parallel()
	w := open(t)
	tester := w.tester()
	canned := tester.narrated(tester.key.FixtureVideoID, fixture.Prompt)
	require.Equal(t, "ready", canned.at("narrative.status"))
	require.Len(t, canned.at("narrative.entries"), len(fixture.Fixture{}.Narrative()))
	plain := tester.do(http.MethodPost, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": %q}`, tester.key.FixtureVideoID, fixture.Prompt))
	require.Nil(t, plain.at("narrative"))

	c := w.customer(100)
	refused := c.narrated(c.ready(), "What is the meaning of this film?")
	require.Equal(t, "failed", refused.at("narrative.status"), "no frame was examined")
}

// TestNarrativeOfMany: batches and reruns can also have narratives.
func TestNarrativeOfMany(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	batch := c.batch(videoID, twoPrompts, `, "options": {"narrative": true}`)
	require.Equal(t, http.StatusAccepted, batch.StatusCode, string(batch.raw))
	for _, item := range batch.at("analyses").([]any) {
		analysisID := item.(map[string]any)["id"].(string)
		c.complete(videoID, analysisID)
		require.Equal(t, "generating", c.do(http.MethodGet, "/v1/analyses/"+analysisID, "").at("narrative.status"))
	}
	analysisID := c.narrated(videoID, "Is there a dog?").at("id").(string)
	_, err := w.service.OpenIncident(t.Context(), "The engine is down", "test")
	require.NoError(t, err)
	run := c.claim(videoID, analysisID)
	require.NoError(t, w.service.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.InferenceError}))
	rerun := c.do(http.MethodPost, "/v1/analyses/"+analysisID+"/rerun", "")
	require.Equal(t, http.StatusAccepted, rerun.StatusCode, string(rerun.raw))
	rerunID := rerun.at("id").(string)
	c.complete(videoID, rerunID)
	require.Equal(t, "generating", c.do(http.MethodGet, "/v1/analyses/"+rerunID, "").at("narrative.status"))
}

// TestReceiptWithoutExaminedFrames checks the receipts of a refusal and of a canned answer. Other
// tests check receipts with examined frames.
func TestReceiptWithoutExaminedFrames(t *testing.T) {
	t.Parallel()
	w := open(t)
	c, tester := w.customer(100), w.tester()
	refused := c.narrated(c.ready(), "What is the meaning of this film?")
	canned := tester.narrated(tester.key.FixtureVideoID, fixture.Prompt)
	for prompt, got := range map[string]response{"What is the meaning of this film?": refused, fixture.Prompt: canned} {
		require.Equal(t, map[string]any{
			"model":          map[string]any{"id": got.at("model"), "name": nil, "weights": nil, "digest": nil},
			"worker_version": nil, "query_digest": "sha256:" + query.Digest(english.Compile(prompt)), "frames": 0.0, "sampled": []any{}, "second_opinion": nil, "duration": nil,
		}, got.at("result.receipt"), prompt)
	}
	expected := w.do(http.MethodGet, "/v1/test-fixture", "")
	require.Equal(t, expected.at("expected_result"), canned.at("result"), "a test key gets the expected result")

	videoID := c.ready()
	old := c.ask(videoID, "Is there a dog?")
	c.complete(videoID, old)
	require.Nil(t, c.do(http.MethodGet, "/v1/analyses/"+old, "").at("result.receipt"), "the event is older than the narrative")
}
