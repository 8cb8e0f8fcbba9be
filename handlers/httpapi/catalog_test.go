package httpapi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake/fixture"
)

func TestPublicSurfaces(t *testing.T) {
	t.Parallel()
	w := open(t)
	index := w.do(http.MethodGet, "/", "")
	require.Equal(t, http.StatusOK, index.StatusCode)
	for name, link := range index.at("links").(map[string]any) {
		if name == "sandbox" || name == "agent_tools" { // they answer POST
			continue
		}
		got := w.do(http.MethodGet, strings.TrimPrefix(link.(string), w.url), "")
		if name == "ledger_checkpoint" { // nothing is sealed here
			require.Equal(t, http.StatusNotFound, got.StatusCode)
			continue
		}
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
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(fixture.Bytes())), described.at("sha256"))
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
	refused := w.do(http.MethodPost, "/v1/sandbox", "")
	w.refused(refused, 429, fault.SandboxLimitExceeded, "")
	w.namesTheCap(refused, 3, "VQA_SANDBOX_PER_IP")
}

// namesTheCap requires that a refusal names the limit, the time of its reset and its setting.
func (w *world) namesTheCap(refused response, limit int, setting string) {
	w.t.Helper()
	require.EqualValues(w.t, limit, refused.at("error.details.limit"))
	require.Equal(w.t, setting, refused.at("error.details.setting"))
	ends, err := time.Parse(time.RFC3339, refused.at("error.details.resets_at").(string))
	require.NoError(w.t, err)
	waitS, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	require.NoError(w.t, err)
	require.WithinDuration(w.t, w.now().Add(time.Duration(waitS)*time.Second), ends, time.Minute)
	message := refused.at("error.message").(string)
	require.Contains(w.t, message, setting)
	require.Contains(w.t, message, ends.Format(time.RFC3339))
}

// TestSandboxesOfThisMachine: the documentation needs more sandboxes and upgrades than one
// address may create.
func TestSandboxesOfThisMachine(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) { o.Uncapped = edge.OnThisMachine(o.PublicURL, nil) })
	for range 5 {
		got := w.do(http.MethodPost, "/v1/sandbox", "")
		require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
		key := got.at("api_key").(string)
		require.Equal(t, http.StatusCreated, w.as(key, http.MethodPost, "/v1/keys/upgrade", "").StatusCode)
	}
	for range 3 {
		got := w.do(http.MethodPost, "/v1/sandbox", "", "X-Forwarded-For", "203.0.113.9")
		require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
	}
	w.refused(w.do(http.MethodPost, "/v1/sandbox", "", "Origin", "https://evil.example"), 429, fault.SandboxLimitExceeded, "")
}

// TestModelsSayWhatTheEngineKnows: the vocabulary is that of the engine's model.
func TestModelsSayWhatTheEngineKnows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		terms []string
		known bool
		words any
		open  bool
	}{
		"an open model":          {nil, true, nil, true},
		"a closed one":           {[]string{"dog", "flower"}, true, []any{"dog", "flower"}, false},
		"vocabulary unknown yet": {nil, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, func(o *httpapi.Options) {
				o.Vocabulary = func(context.Context) ([]string, bool) { return tt.terms, tt.known }
			})
			m := w.do(http.MethodGet, "/v1/models", "").at("data").([]any)[0].(map[string]any)
			can := m["capabilities"].(map[string]any)
			require.Equal(t, tt.open, can["open_vocabulary"])
			require.Equal(t, tt.words, can["vocabulary"])
		})
	}
}
