package doctor

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query/english"
	"vqa/gpu/chat"
)

// speaker is a chat server whose model always gives the same answer.
func speaker(t *testing.T, content string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": content}}}})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// chatModel opens a client of the model at url.
func chatModel(url string) func() (*chat.Client, error) {
	return func() (*chat.Client, error) { return chat.New(chat.Options{URL: url, Model: "model"}) }
}

func TestDoctorAsksTheModels(t *testing.T) {
	t.Parallel()
	compiled, err := json.Marshal(english.Compile(modelQuestion))
	require.NoError(t, err)
	openEnded := `{"schema_version": 1, "prompt_intent": "open_ended", "query_type": "open_ended", "subjects": [], "search_terms": []}`
	language := func(url string, within time.Duration) Finding {
		return checkLanguageModel(t.Context(), &Examination{Installation: Installation{LanguageModel: chatModel(url), LLMTimeout: within}})
	}
	none := func() (*chat.Client, error) { return nil, nil }
	require.Equal(t, OK, checkLanguageModel(t.Context(), &Examination{Installation: Installation{LanguageModel: none, VisionModel: none}}).Verdict)
	good := language(speaker(t, string(compiled)), time.Minute)
	require.Equal(t, OK, good.Verdict, good.Detail)
	require.Equal(t, Warning, language(speaker(t, string(compiled)), time.Nanosecond).Verdict, "slower than its limit")
	require.Equal(t, Warning, language(speaker(t, openEnded), time.Minute).Verdict)
	require.Equal(t, Broken, language(speaker(t, "hello"), time.Minute).Verdict)
	require.Equal(t, Broken, language("http://127.0.0.1:"+freePort()+"/v1", time.Minute).Verdict)

	vision := func(url string, picture []byte) Finding {
		return checkVisionModel(t.Context(), &Examination{Installation: Installation{VisionModel: chatModel(url)}, picture: picture})
	}
	picture := []byte{0xff, 0xd8}
	require.Equal(t, OK, checkVisionModel(t.Context(), &Examination{Installation: Installation{LanguageModel: none, VisionModel: none}}).Verdict)
	require.Equal(t, OK, vision(speaker(t, `{"answer": "yes", "confidence": 0.9, "frames": [0], "count": null}`), picture).Verdict)
	require.Equal(t, Warning, vision(speaker(t, `{"answer": "unsure", "confidence": 0, "frames": [], "count": null}`), picture).Verdict)
	require.Equal(t, Warning, vision(speaker(t, "hello"), nil).Verdict, "there is no picture to ask about")
	require.Equal(t, Broken, vision(speaker(t, "hello"), picture).Verdict)
}
