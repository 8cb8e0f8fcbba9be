package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/gpu/chat"
)

const (
	key      = "sk-hunter2"
	patience = 20 * time.Second
)

// fruit is the schema of the answers in these tests.
func fruit(t *testing.T) *chat.Schema {
	t.Helper()
	s, err := chat.NewSchema("fruit", []byte(`{
		"type": "object", "additionalProperties": false, "required": ["fruit"],
		"properties": {"fruit": {"enum": ["apple", "pear"]}, "number": {"type": "integer"}}
	}`))
	require.NoError(t, err)
	return s
}

// says is an answer of the protocol with this content.
func says(content string) string {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return `{"id": "1", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ` + string(text) + `}}]}`
}

func serve(t *testing.T, handler http.HandlerFunc) *chat.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	c, err := chat.New(chat.Options{URL: server.URL + "/v1/", Model: "orchard-1", APIKey: key})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	var got map[string]any
	var path, auth string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, says(`{"fruit": "pear", "number": 12345678901234567}`))
	})
	answer, err := c.Ask(t.Context(), chat.Request{
		System: "You know fruit.", Parts: []chat.Part{{Text: "Which?"}, {JPEG: []byte{0xff, 0xd8}}}, Schema: fruit(t), Timeout: patience,
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"fruit": "pear", "number": 12345678901234567}`, string(answer))
	require.Equal(t, "/v1/chat/completions", path)
	require.Equal(t, "Bearer "+key, auth)
	format := got["response_format"].(map[string]any)
	require.Equal(t, "json_schema", format["type"])
	require.Equal(t, "fruit", format["json_schema"].(map[string]any)["name"])
	require.Contains(t, format["json_schema"].(map[string]any)["schema"], "properties")
	require.Equal(t, "orchard-1", got["model"])
	require.Empty(t, cmp.Diff([]any{
		map[string]any{"role": "system", "content": "You know fruit."},
		map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": "Which?"},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/jpeg;base64,/9g="}},
		}},
	}, got["messages"]))
}

// TestTextAlone checks that a message without images is plain text.
func TestTextAlone(t *testing.T) {
	t.Parallel()
	var got struct {
		Messages []struct{ Content any }
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, says(`{"fruit": "pear"}`))
	})
	_, err := c.Ask(t.Context(), chat.Request{System: "s", Parts: []chat.Part{{Text: "a"}, {Text: "b"}}, Schema: fruit(t), Timeout: patience})
	require.NoError(t, err)
	require.Equal(t, "a\nb", got.Messages[1].Content)
}

// TestErrors checks the class of the error for each way in which a server can fail.
func TestErrors(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"choices": [`)
		panic(http.ErrAbortHandler)
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"500":               {answering(500, `{"error": {"message": "oops"}}`), chat.ErrUnavailable},
		"429":               {answering(429, `{"error": {"message": "slow down"}}`), chat.ErrUnavailable},
		"503, plain":        {answering(503, `<html>`), chat.ErrUnavailable},
		"401":               {answering(401, `{"error": {"message": "bad key `+key+`"}}`), chat.ErrRefused},
		"404, with the key": {answering(404, `no such `+key), chat.ErrRefused},
		"a redirect":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, chat.ErrRefused},
		"a refusal": {answering(200, `{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "refusal": "I will not"}}]}`),
			chat.ErrRefused},
		"filtered":            {answering(200, `{"choices": [{"finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}]}`), chat.ErrRefused},
		"cut connection":      {cut, chat.ErrUnavailable},
		"nothing":             {answering(200, ``), chat.ErrUnavailable},
		"no JSON":             {answering(200, `<html>hello</html>`), chat.ErrInvalid},
		"another protocol":    {answering(200, `{"hello": "world"}`), chat.ErrInvalid},
		"choices of a kind":   {answering(200, `{"choices": "many"}`), chat.ErrInvalid},
		"cut off by a limit":  {answering(200, `{"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "{"}}]}`), chat.ErrInvalid},
		"prose":               {answering(200, says(`A pear, I think.`)), chat.ErrInvalid},
		"prose behind":        {answering(200, says(`{"fruit": "pear"} I hope this helps!`)), chat.ErrInvalid},
		"fenced":              {answering(200, says("```json\n{\"fruit\": \"pear\"}\n```")), chat.ErrInvalid},
		"another schema":      {answering(200, says(`{"vegetable": "leek"}`)), chat.ErrInvalid},
		"a value not allowed": {answering(200, says(`{"fruit": "leek"}`)), chat.ErrInvalid},
		"null":                {answering(200, says(`null`)), chat.ErrInvalid},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"choices": [{"message": {"content": "`)
			for block := strings.Repeat("a", 1<<16); ; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}, chat.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, tt.handler).Ask(t.Context(), chat.Request{Parts: []chat.Part{{Text: "?"}}, Schema: fruit(t), Timeout: patience})
			require.ErrorIs(t, err, tt.want)
			for _, other := range []error{chat.ErrUnavailable, chat.ErrRefused, chat.ErrInvalid} {
				require.Equal(t, errors.Is(tt.want, other), errors.Is(err, other), other)
			}
			require.NotContains(t, err.Error(), key)
			require.Less(t, len(err.Error()), 400)
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
		<-r.Context().Done()
	})
	_, err := c.Ask(t.Context(), chat.Request{Schema: fruit(t), Timeout: 20 * time.Millisecond})
	require.ErrorIs(t, err, chat.ErrUnavailable)

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Ask(canceled, chat.Request{Schema: fruit(t), Timeout: patience})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, chat.ErrUnavailable, "a canceled call must not count as an outage")
}

func TestServerIsDown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := chat.New(chat.Options{URL: server.URL, Model: "m"})
	require.NoError(t, err)
	_, err = c.Ask(t.Context(), chat.Request{Schema: fruit(t), Timeout: patience})
	require.ErrorIs(t, err, chat.ErrUnavailable)
}

// TestTriesAgainOnce checks that there is one second attempt, and only where it may help.
func TestTriesAgainOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first http.HandlerFunc
		calls int32
	}{
		"dropped":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2},
		"503":         {answering(503, ``), 2},
		"429":         {answering(429, ``), 1},
		"500":         {answering(500, ``), 1},
		"401":         {answering(401, ``), 1},
		"wrong words": {answering(200, says(`leek`)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			good := answering(200, says(`{"fruit": "apple"}`))
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					tt.first(w, r)
					return
				}
				good(w, r)
			})
			_, err := c.Ask(t.Context(), chat.Request{Schema: fruit(t), Timeout: patience})
			require.Equal(t, tt.calls == 2, err == nil, err)
			require.Equal(t, tt.calls, calls.Load())
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []chat.Options{
		{}, {URL: "host:8000", Model: "m"}, {URL: "ftp://host", Model: "m"}, {URL: "http://host/v1"}, {URL: "http://host", Model: " "},
		{URL: "http://user:hunter2@host", Model: "m"},
	} {
		_, err := chat.New(o)
		require.Error(t, err, o.URL)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := chat.NewSchema("x", []byte(`{"type": "nonsense"}`))
	require.Error(t, err)
	_, err = chat.NewSchema("x", []byte(`{`))
	require.Error(t, err)
}
