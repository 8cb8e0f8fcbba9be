package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query"
	"vqa/domain/query/english"
)

// slang is a prompt that the rules cannot compile.
const slang = "yo, frumious octagons up in this joint, y/n"

// scribe is a chat server with one model that compiles prompts, writes narratives and reads images.
type scribe struct {
	*httptest.Server
	mu sync.Mutex
	// asked counts the requests by the name of their schema.
	asked map[string]int
	keys  map[string]bool
}

func newScribe(t *testing.T) *scribe {
	t.Helper()
	s := &scribe{asked: map[string]int{}, keys: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *scribe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Format struct {
			Schema struct {
				Name string `json:"name"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) != 2 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	task := body.Format.Schema.Name
	var text string // the content of a question with images is a list
	if err := json.Unmarshal(body.Messages[1].Content, &text); (err == nil) == (task == "opinion") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked[task]++
	s.keys[r.Header.Get("Authorization")] = true
	s.mu.Unlock()
	var said any
	switch task {
	case "compiled_query":
		said = compiled(text)
	case "narrative":
		said = retold(text)
	default:
		said = map[string]any{"answer": "yes", "confidence": 0.95, "frames": []int{0}, "count": nil}
	}
	content, err := json.Marshal(said)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
		"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(content)},
	}}})
}

// compiled understands slang, and compiles other prompts with the rules.
func compiled(text string) query.Query {
	var asked struct{ Question string }
	_ = json.Unmarshal([]byte(text), &asked)
	prompt := asked.Question
	if prompt == slang {
		prompt = "Is there a stop sign?"
	}
	q := english.Compile(prompt)
	q.OriginalPrompt = nil
	return q
}

// retold numbers the sentences.
func retold(text string) any {
	var told struct{ Observations []any }
	_ = json.Unmarshal([]byte(text), &told)
	texts := make([]string, len(told.Observations))
	for i := range texts {
		texts[i] = fmt.Sprintf("Sentence %d.", i)
	}
	return map[string]any{"texts": texts}
}

func (s *scribe) count(task string) int { s.mu.Lock(); defer s.mu.Unlock(); return s.asked[task] }

// TestLanguageModels runs the program with models for all their tasks.
func TestLanguageModels(t *testing.T) {
	t.Parallel()
	models := newScribe(t)
	s := ownService(t, "VQA_LLM_URL="+models.URL+"/v1", "VQA_LLM_MODEL=scribe", "VQA_LLM_API_KEY=sk-hunter2", "VQA_LLM_TIMEOUT=1m",
		"VQA_VLM_URL="+models.URL+"/v1", "VQA_VLM_MODEL=looker", "VQA_VLM_API_KEY=sk-hunter3", "VQA_ARTIFACTS=false")
	c := s.account(t, 1000)
	videoID := c.readyVideo(t, clip(t, signsClip))

	understood := c.call(t, http.MethodPost, "/v1/analyses", map[string]any{
		"video_id": videoID, "prompt": slang, "options": map[string]any{"narrative": true},
	}, "Prefer", "wait=100")
	require.Equal(t, "llm", understood.text("parse_mode"), "%s", understood.raw)
	require.Equal(t, slang, understood.text("query.original_prompt"))
	require.Equal(t, "yes", understood.text("result.answer"), "%s", understood.raw)
	require.Nil(t, understood.at("result.receipt.second_opinion"), "a sure answer needs no second opinion")
	require.Zero(t, models.count("opinion"))

	looked := c.ask(t, videoID, "Is the stop sign spinning?", "Prefer", "wait=100")
	require.Equal(t, "yes", looked.text("result.answer"), "%s", looked.raw)
	require.InDelta(t, .69, looked.number("result.confidence"), 0, "the confidence of a vision model is marginal")
	require.NotEmpty(t, looked.at("result.clips"))
	require.Equal(t, "looker", looked.text("result.receipt.second_opinion.model"))
	require.Greater(t, looked.number("result.receipt.second_opinion.frames"), 1.0)
	require.Greater(t, looked.number("usage.billed_seconds"), 0.0)
	require.Equal(t, 1, models.count("opinion"))

	var told answer
	require.True(t, poll(time.Minute, func() bool {
		told = c.call(t, http.MethodGet, "/v1/analyses/"+understood.text("id"), nil)
		return told.text("narrative.status") == "ready"
	}), "%s", told.raw)
	require.Equal(t, "Sentence 0.", told.text("narrative.entries.0.text"), "%s", told.raw)

	require.Equal(t, true, c.call(t, http.MethodGet, "/v1/models", nil).at("data.0.capabilities.open_vocabulary"))
	require.Equal(t, map[string]bool{"Bearer sk-hunter2": true, "Bearer sk-hunter3": true}, models.keys)
	require.NotContains(t, s.said.String(), "hunter")
	for _, check := range []string{"compiles a prompt", "sees the ball"} {
		require.Contains(t, string(s.tool(t, "doctor")), check)
	}
}
