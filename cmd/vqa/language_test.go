package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query/english"
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

// TestModelsFollowTheConfiguration checks that the configured models decide which questions are
// answered.
func TestModelsFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	juggling, love := english.Compile("Is a person juggling?"), english.Compile("What is love?")

	none, err := openModels(config{}, log)
	require.NoError(t, err)
	require.Nil(t, none.commandCompiler())
	require.Nil(t, none.narrator)
	require.True(t, none.assessable(english.Compile("Is there a dog?")))
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
