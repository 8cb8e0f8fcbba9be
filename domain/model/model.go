package model

import (
	"strings"
	"time"

	"vqa/domain/fault"
)

// Status is where a model is in its lifecycle.
type Status string

// The lifecycle.
const (
	Preview    Status = "preview"
	Stable     Status = "stable"
	Deprecated Status = "deprecated"
)

// Latest resolves to the default model.
const Latest = "latest"

// Model is one version of a model. It never changes once published, except in its
// status.
type Model struct {
	ID        string
	Status    Status
	Default   bool
	CreatedAt time.Time
	// SunsetAt is when a deprecated model stops answering, or nil.
	SunsetAt     *time.Time
	Aliases      []string
	Capabilities Capabilities
}

// Capabilities say what a model can do (open-points.md, "Fields and envelopes").
type Capabilities struct {
	Analyses       bool     `json:"analyses"`
	Streams        bool     `json:"streams"`
	Narrative      bool     `json:"narrative"`
	Counting       bool     `json:"counting"`
	Actions        string   `json:"actions"`
	OpenVocabulary bool     `json:"open_vocabulary"`
	Vocabulary     []string `json:"vocabulary"`
}

// Catalog is an ordered list of models, exactly one of them the default.
type Catalog []Model

// Resolve finds the model of a name: an id, an alias in any casing, "latest" or ""
// for the default. Errors: model_not_found, model_deprecated past the sunset.
func (c Catalog) Resolve(name string, now time.Time) (Model, error) {
	for _, m := range c {
		if !m.answersTo(name) {
			continue
		}
		if m.SunsetAt != nil && !now.Before(*m.SunsetAt) {
			return Model{}, fault.Newf(fault.ModelDeprecated, "The model %s was shut down on %s.", m.ID, m.SunsetAt.Format(time.DateOnly)).
				WithParam("model")
		}
		return m, nil
	}
	return Model{}, fault.Newf(fault.ModelNotFound, "There is no model %q; GET /v1/models lists them.", name).WithParam("model")
}

func (m Model) answersTo(name string) bool {
	if name == "" || strings.EqualFold(name, Latest) {
		return m.Default
	}
	if name == m.ID {
		return true
	}
	for _, a := range m.Aliases {
		if strings.EqualFold(a, name) {
			return true
		}
	}
	return false
}
