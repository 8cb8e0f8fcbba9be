package httpapi_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/gpu/chat"
	"vqa/handlers/language"
)

// slang is a prompt that the model can compile and the rules cannot.
const slang = "yo, frumious woofers up in this joint, y/n"

// speaker is a server whose model compiles every prompt to one query, or hangs.
type speaker struct {
	calls atomic.Int32
	hangs atomic.Bool
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	if s.hangs.Load() {
		<-r.Context().Done()
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{
		"role": "assistant",
		"content": `{"schema_version": 1, "prompt_intent": "presence", "query_type": "object",
			"subjects": [{"id": "s1", "term": "dog"}], "search_terms": ["dog"]}`,
	}}}})
}

// withModel compiles the prompts of a world with a model, with a time limit for each.
func (w *world) withModel(t *testing.T, within time.Duration) *speaker {
	t.Helper()
	s := &speaker{}
	server := httptest.NewServer(s)
	client, err := chat.New(chat.Options{URL: server.URL + "/v1", Model: "writer-1"})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	w.service.Compiler, err = language.NewCompiler(language.CompilerOptions{
		Chat: client, Timeout: within, Pause: time.Hour, Assessable: answer.Assessable, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return s
}

func TestParseByAModel(t *testing.T) {
	t.Parallel()
	w := open(t)
	model := w.withModel(t, time.Minute)
	c := w.customer(1000)

	parsed := w.do(http.MethodPost, "/v1/parse", `{"prompt": "`+slang+`"}`)
	require.Equal(t, http.StatusOK, parsed.StatusCode, string(parsed.raw))
	require.Equal(t, "llm_parser", parsed.at("parse_mode"))
	require.Equal(t, "presence", parsed.at("compiled_query.prompt_intent"))
	require.Equal(t, slang, parsed.at("compiled_query.original_prompt"))

	body := `{"video_id": "` + c.ready() + `", "prompt": "` + slang + `"`
	preview := c.do(http.MethodPost, "/v1/analyses", body+`, "validate_only": true}`)
	require.Equal(t, http.StatusOK, preview.StatusCode, string(preview.raw))
	require.Equal(t, "llm", preview.at("parse_mode"))
	require.Equal(t, true, preview.at("assessable"))

	created := c.do(http.MethodPost, "/v1/analyses", body+`}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusAccepted, created.StatusCode, string(created.raw))
	require.Equal(t, "llm", created.at("parse_mode"))
	read := c.do(http.MethodGet, "/v1/analyses/"+created.at("id").(string), "")
	require.Equal(t, "llm", read.at("parse_mode"))
	require.Equal(t, preview.at("query"), read.at("query"))
	require.EqualValues(t, 1, model.calls.Load(), "the model is called once for a prompt")
}

// TestReplayAsksNoModel: a repeated request gets the query of the first one.
func TestReplayAsksNoModel(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.withModel(t, time.Minute)
	c := w.customer(1000)
	body := `{"video_id": "` + c.ready() + `", "prompt": "` + slang + `"}`
	created := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k")
	require.Equal(t, "llm", created.at("parse_mode"), string(created.raw))

	second := w.withModel(t, time.Minute) // with an empty cache
	again := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.JSONEq(t, string(created.raw), string(again.raw))
	require.EqualValues(t, 1, first.calls.Load())
	require.EqualValues(t, 0, second.calls.Load())
}

// TestParseWithoutTheModel: a model that hangs times out and is not used for a while. The rules
// compile the prompts.
func TestParseWithoutTheModel(t *testing.T) {
	t.Parallel()
	w := open(t)
	model := w.withModel(t, 50*time.Millisecond)
	model.hangs.Store(true)
	c := w.customer(1000)
	body := `{"video_id": "` + c.ready() + `", "prompts": [` + strings.Repeat(`"Is there a dog?", `, 9) + `"Is there a cat?"]}`
	for range 2 {
		batch := c.do(http.MethodPost, "/v1/analyses/batch", body)
		require.Equal(t, http.StatusAccepted, batch.StatusCode, string(batch.raw))
		for _, a := range batch.at("analyses").([]any) {
			require.Equal(t, "heuristic", a.(map[string]any)["parse_mode"])
		}
		w.service.Limits.MaxConcurrentAnalyses = 100
	}
	require.LessOrEqual(t, model.calls.Load(), int32(10), "the first batch calls the model for all prompts, the second for none")
	parsed := w.do(http.MethodPost, "/v1/parse", `{"prompt": "Is there a dog?"}`)
	require.Equal(t, http.StatusOK, parsed.StatusCode)
	require.Equal(t, "heuristic", parsed.at("parse_mode"))
}
