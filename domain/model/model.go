package model

import (
	"slices"
	"strings"
	"time"

	"vqa/domain/fault"
)

// Status is the stage of a model in its lifecycle.
type Status string

// The stages of the lifecycle.
const (
	Preview    Status = "preview"
	Stable     Status = "stable"
	Deprecated Status = "deprecated"
)

// Latest is the name that resolves to the default model.
const Latest = "latest"

// Model is one version of a model. After publication only its status changes.
type Model struct {
	ID        string
	Status    Status
	Default   bool
	CreatedAt time.Time
	// SunsetAt is the time at which a deprecated model stops answering, or nil.
	SunsetAt     *time.Time
	Aliases      []string
	Capabilities Capabilities
}

// Capabilities say what a model can do (docs/contract.md#models).
type Capabilities struct {
	Analyses       bool     `json:"analyses"`
	Streams        bool     `json:"streams"`
	Narrative      bool     `json:"narrative"`
	Counting       bool     `json:"counting"`
	Actions        string   `json:"actions"`
	OpenVocabulary bool     `json:"open_vocabulary"`
	Vocabulary     []string `json:"vocabulary"`
}

// Catalog is an ordered list of models. Exactly one of them is the default.
type Catalog []Model

// Find returns the model with a name: an id or an alias in any letter case, or "latest" or ""
// for the default.
func (c Catalog) Find(name string) (Model, bool) {
	i := slices.IndexFunc(c, func(m Model) bool { return m.answersTo(name) })
	if i < 0 {
		return Model{}, false
	}
	return c[i], true
}

// Resolve finds the model that answers a request with a name. Errors: model_not_found, and model_deprecated after the
// sunset.
func (c Catalog) Resolve(name string, now time.Time) (Model, error) {
	m, found := c.Find(name)
	if !found {
		return Model{}, fault.Newf(fault.ModelNotFound, "Unknown model %q. GET /v1/models lists the models.", name).WithParam("model")
	}
	if m.SunsetAt != nil && !now.Before(*m.SunsetAt) {
		return Model{}, fault.Newf(fault.ModelDeprecated, "Model %s was shut down on %s. GET /v1/models lists the models that answer.", m.ID, m.SunsetAt.Format(time.DateOnly)).
			WithParam("model")
	}
	return m, nil
}

func (m Model) answersTo(name string) bool {
	if name == "" || strings.EqualFold(name, Latest) {
		return m.Default
	}
	same := func(known string) bool { return strings.EqualFold(known, name) }
	return same(m.ID) || slices.ContainsFunc(m.Aliases, same)
}
