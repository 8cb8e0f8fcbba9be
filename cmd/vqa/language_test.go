package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query"
)

func TestLanguageConfiguration(t *testing.T) {
	t.Parallel()
	whole := func() config {
		return config{
			LLMURL: "http://llm.example/v1", LLMModel: "writer", LLMAPIKey: "hunter2", LLMTimeout: time.Second,
			VLMURL: "https://vlm.example/v1", VLMModel: "looker",
		}
	}
	require.NoError(t, config{}.checkLanguage(), "none")
	require.NoError(t, whole().checkLanguage(), "both")
	for name, spoil := range map[string]func(*config){
		"no model":          func(c *config) { c.LLMModel = "" },
		"a model alone":     func(c *config) { c.LLMURL = "" },
		"a key alone":       func(c *config) { c.VLMURL, c.VLMModel, c.VLMAPIKey = "", "", "hunter2" },
		"no URL":            func(c *config) { c.VLMURL = "vlm.example:8000" },
		"another scheme":    func(c *config) { c.VLMURL = "grpc://vlm.example" },
		"a password inside": func(c *config) { c.LLMURL = "http://u:hunter2@llm.example/v1" },
	} {
		c := whole()
		spoil(&c)
		err := c.checkLanguage()
		require.ErrorContains(t, err, "VQA_", name)
		require.NotContains(t, err.Error(), "hunter2", name)
	}
}

// TestModelsFollowTheConfiguration: which questions are answered depends on who can be asked.
func TestModelsFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	juggling, love := query.Compile("Is a person juggling?"), query.Compile("What is love?")

	none, err := openModels(config{}, log)
	require.NoError(t, err)
	require.Nil(t, none.commandCompiler())
	require.Nil(t, none.narrator)
	require.True(t, none.assessable(query.Compile("Is there a dog?")))
	require.False(t, none.assessable(juggling))
	require.False(t, catalog(config{})[0].Capabilities.OpenVocabulary)
	require.Contains(t, catalog(config{})[0].Capabilities.Vocabulary, "dog")

	c := config{LLMURL: "http://llm.example", LLMModel: "writer", VLMURL: "http://vlm.example", VLMModel: "looker"}
	both, err := openModels(c, log)
	require.NoError(t, err)
	require.NotNil(t, both.commandCompiler())
	require.NotNil(t, both.narrator)
	require.True(t, both.assessable(juggling))
	require.False(t, both.assessable(love))
	require.True(t, catalog(c)[0].Capabilities.OpenVocabulary)
	require.Nil(t, catalog(c)[0].Capabilities.Vocabulary)
	require.NoError(t, both.Close())
}

// speaker is a server of the chat protocol whose model always says the same.
func speaker(t *testing.T, content string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": content}}}})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func TestDoctorAsksTheModels(t *testing.T) {
	t.Parallel()
	compiled, err := json.Marshal(query.Compile(modelQuestion))
	require.NoError(t, err)
	openEnded := `{"schema_version": 1, "prompt_intent": "open_ended", "query_type": "open_ended", "subjects": [], "search_terms": []}`
	language := func(url string, within time.Duration) finding {
		return checkLanguageModel(t.Context(), &examination{config: config{LLMURL: url, LLMModel: "writer", LLMTimeout: within}})
	}
	require.Equal(t, fine, checkLanguageModel(t.Context(), &examination{}).Verdict)
	good := language(speaker(t, string(compiled)), time.Minute)
	require.Equal(t, fine, good.Verdict, good.Detail)
	require.Equal(t, warning, language(speaker(t, string(compiled)), time.Nanosecond).Verdict, "slower than it is given")
	require.Equal(t, warning, language(speaker(t, openEnded), time.Minute).Verdict)
	require.Equal(t, broken, language(speaker(t, "hello"), time.Minute).Verdict)
	require.Equal(t, broken, language("http://127.0.0.1:"+freePort()+"/v1", time.Minute).Verdict)

	vision := func(url string, picture []byte) finding {
		return checkVisionModel(t.Context(), &examination{config: config{VLMURL: url, VLMModel: "looker"}, picture: picture})
	}
	picture := []byte{0xff, 0xd8}
	require.Equal(t, fine, checkVisionModel(t.Context(), &examination{}).Verdict)
	require.Equal(t, fine, vision(speaker(t, `{"answer": "yes", "confidence": 0.9, "frames": [0], "count": null}`), picture).Verdict)
	require.Equal(t, warning, vision(speaker(t, `{"answer": "unsure", "confidence": 0, "frames": [], "count": null}`), picture).Verdict)
	require.Equal(t, warning, vision(speaker(t, "hello"), nil).Verdict, "without a picture nothing can be said")
	require.Equal(t, broken, vision(speaker(t, "hello"), picture).Verdict)
}
