package main

import (
	"context"
	"fmt"
	"log/slog"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/gpu/chat"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/jobs"
	"vqa/handlers/language"
)

// models are the language models of the configuration. A field is nil when its model is not
// configured.
type models struct {
	compiler *language.Compiler
	narrator *language.Narrator
	vision   *language.VisionModel
	clients  []*chat.Client
}

// openModels makes clients of the configured models. It does not connect to them, because the
// service also works without them.
func openModels(c config, log *slog.Logger) (*models, error) {
	m := &models{}
	text, err := c.languageModel()
	if err != nil {
		return nil, err
	}
	pictures, err := c.visionModel()
	if err != nil {
		return nil, err
	}
	if pictures != nil {
		m.clients = append(m.clients, pictures)
		if m.vision, err = language.NewVisionModel(pictures, log); err != nil {
			return nil, err
		}
	}
	if text == nil {
		return m, nil
	}
	m.clients = append(m.clients, text)
	if m.compiler, err = language.NewCompiler(language.CompilerOptions{
		Chat: text, Timeout: c.LLMTimeout, Assessable: m.assessable, Log: log,
	}); err != nil {
		return nil, err
	}
	m.narrator, err = language.NewNarrator(text, log)
	return m, err
}

// assessable reports whether a query is answered. The detector answers the supported forms; a vision
// model also answers every other query with a closed answer.
func (m *models) assessable(q query.Query) bool {
	return answer.Assessable(q) || m.vision != nil && language.VisionAssessable(q)
}

// commandCompiler returns the compiler, or a nil interface when there is none.
func (m *models) commandCompiler() command.Compiler {
	if m.compiler == nil {
		return nil
	}
	return remoteCompiler{m.compiler}
}

// remoteCompiler excludes the time of the language model from the time in service of a create.
type remoteCompiler struct{ command.Compiler }

// Compile implements command.Compiler.
func (c remoteCompiler) Compile(ctx context.Context, prompt string) (query.Query, error) {
	defer edge.ExchangeOf(ctx).Elsewhere()()
	return c.Compiler.Compile(ctx, prompt)
}

// jobsNarrator returns the narrator, or a nil interface when there is none.
func (m *models) jobsNarrator() jobs.Narrator {
	if m.narrator == nil {
		return nil
	}
	return m.narrator
}

// Close closes the connections to the models.
func (m *models) Close() error {
	for _, c := range m.clients {
		c.Close()
	}
	return nil
}

// languageModel returns a client of the model that compiles prompts and writes narratives, or nil
// when there is none.
func (c config) languageModel() (*chat.Client, error) {
	return chatClient("VQA_LLM", c.LLMURL, c.LLMModel, c.LLMAPIKey)
}

// visionModel returns a client of the model that gives second opinions, or nil when there is none.
func (c config) visionModel() (*chat.Client, error) {
	return chatClient("VQA_VLM", c.VLMURL, c.VLMModel, c.VLMAPIKey)
}

func chatClient(prefix, url, model, key string) (*chat.Client, error) {
	if url == "" {
		if model != "" || key != "" {
			return nil, fmt.Errorf("configuration: %s_MODEL and %s_API_KEY have no effect without %s_URL: set it, or unset them", prefix, prefix, prefix)
		}
		return nil, nil
	}
	client, err := chat.New(chat.Options{URL: url, Model: model, APIKey: key})
	if err != nil {
		return nil, fmt.Errorf("configuration: %s_URL, %s_MODEL: %w", prefix, prefix, err)
	}
	return client, nil
}

// checkLanguage refuses an incomplete configuration of a model.
func (c config) checkLanguage() error {
	for _, open := range []func() (*chat.Client, error){c.languageModel, c.visionModel} {
		if _, err := open(); err != nil {
			return err
		}
	}
	return nil
}
