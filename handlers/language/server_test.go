package language_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/gpu/chat"
)

// patience is longer than any test takes.
const patience = 30 * time.Second

// model is a server of the chat protocol with a fixed answer.
type model struct {
	*chat.Client
	calls  atomic.Int32
	mu     sync.Mutex
	answer http.HandlerFunc
	// body is the body of the last request.
	body []byte
}

func newModel(t testing.TB, answer http.HandlerFunc) *model {
	t.Helper()
	m := &model{answer: answer}
	server := httptest.NewServer(m)
	c, err := chat.New(chat.Options{URL: server.URL + "/v1", Model: "writer-1", APIKey: "sk-hunter2"})
	require.NoError(t, err)
	m.Client = c
	t.Cleanup(func() { c.Close(); server.Close() })
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.calls.Add(1)
	m.mu.Lock()
	m.body = body
	answer := m.answer
	m.mu.Unlock()
	answer(w, r)
}

func (m *model) set(answer http.HandlerFunc) { m.mu.Lock(); defer m.mu.Unlock(); m.answer = answer }

// lastRequest is the content of the last request: the task, the texts and the number of images.
func (m *model) lastRequest(t testing.TB) (system string, texts []string, images int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(m.body, &body))
	require.Len(t, body.Messages, 2)
	require.NoError(t, json.Unmarshal(body.Messages[0].Content, &system))
	var plain string
	if json.Unmarshal(body.Messages[1].Content, &plain) == nil {
		return system, []string{plain}, 0
	}
	var parts []struct{ Type, Text string }
	require.NoError(t, json.Unmarshal(body.Messages[1].Content, &parts))
	for _, p := range parts {
		if p.Type == "image_url" {
			images++
		} else {
			texts = append(texts, p.Text)
		}
	}
	return system, texts, images
}

// says answers with this content.
func says(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": content},
		}}})
	}
}

func fails(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// hangs never answers, so the client must give up.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// misbehavior is a set of servers that do not answer as the protocol says.
func misbehavior() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"500":  fails(http.StatusInternalServerError),
		"429":  fails(http.StatusTooManyRequests),
		"401":  fails(http.StatusUnauthorized),
		"cut":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"HTML": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"choices": [{"message": {"content": "`)
			for block := strings.Repeat("a", 1<<16); ; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		},
		"prose":          says("Certainly! Here is what you asked for."),
		"another schema": says(`{"verdict": "yes"}`),
		"null":           says("null"),
	}
}

// journal is a log that the test reads.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) { j.mu.Lock(); defer j.mu.Unlock(); return j.b.Write(p) }

func (j *journal) String() string { j.mu.Lock(); defer j.mu.Unlock(); return j.b.String() }

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }
