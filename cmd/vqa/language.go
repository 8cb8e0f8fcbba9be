package main

import (
	"fmt"
	"log/slog"

	"vqa/domain/query"
	"vqa/gpu/chat"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/language"
)

// models are the models of language that are configured; nil ones are not.
type models struct {
	compiler *language.Compiler
	narrator *language.Narrator
	vision   *language.VisionModel
	clients  []*chat.Client
}

// openModels makes clients of the configured models, which it does not connect to: one that
// is away is done without.
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

// assessable reports which queries are answered: those of the detector, and with a model
// that looks at pictures all that have a closed form.
func (m *models) assessable(q query.Query) bool {
	return query.Assessable(q) || m.vision != nil && language.VisionAssessable(q)
}

// commandCompiler is the compiler as the commands take it, nil for none.
func (m *models) commandCompiler() command.Compiler {
	if m.compiler == nil {
		return nil
	}
	return m.compiler
}

// jobsNarrator is the narrator as the jobs take it, nil for none.
func (m *models) jobsNarrator() jobs.Narrator {
	if m.narrator == nil {
		return nil
	}
	return m.narrator
}

// Close lets go of connections.
func (m *models) Close() error {
	for _, c := range m.clients {
		c.Close()
	}
	return nil
}

// languageModel is a client of the model that compiles prompts and writes narratives, nil
// when there is none.
func (c config) languageModel() (*chat.Client, error) {
	return chatClient("VQA_LLM", c.LLMURL, c.LLMModel, c.LLMAPIKey)
}

// visionModel is a client of the model that gives second opinions, nil when there is none.
func (c config) visionModel() (*chat.Client, error) {
	return chatClient("VQA_VLM", c.VLMURL, c.VLMModel, c.VLMAPIKey)
}

func chatClient(prefix, url, model, key string) (*chat.Client, error) {
	if url == "" {
		if model != "" || key != "" {
			return nil, fmt.Errorf("configuration: %s_MODEL and %s_API_KEY are of no use without %s_URL", prefix, prefix, prefix)
		}
		return nil, nil
	}
	client, err := chat.New(chat.Options{URL: url, Model: model, APIKey: key})
	if err != nil {
		return nil, fmt.Errorf("configuration: %s_URL, %s_MODEL: %w", prefix, prefix, err)
	}
	return client, nil
}

// checkLanguage refuses half a configuration of a model.
func (c config) checkLanguage() error {
	for _, open := range []func() (*chat.Client, error){c.languageModel, c.visionModel} {
		if _, err := open(); err != nil {
			return err
		}
	}
	return nil
}
