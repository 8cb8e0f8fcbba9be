package httpapi

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/oapi-codegen/runtime/types"
	"go.yaml.in/yaml/v3"

	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

//go:embed changelog.yaml
var changelogFile []byte

// change is one entry of the changelog.
type change struct {
	ID          string         `yaml:"id"`
	Date        string         `yaml:"date"`
	Version     string         `yaml:"version"`
	Type        api.ChangeType `yaml:"type"`
	Title       string         `yaml:"title"`
	Description string         `yaml:"description"`
	// Endpoints are the changed operations, as "METHOD path".
	Endpoints []string `yaml:"endpoints"`
	Migration string   `yaml:"migration"`
	SunsetAt  string   `yaml:"sunset_at"`

	date time.Time
	// sunset is the date of the removal, or zero if it is not known.
	sunset time.Time
}

// anchor returns the path of the entry on the changelog page.
func (c change) anchor() string { return "/docs/changelog#" + c.ID }

// loadChangelog reads the changelog. It fails if a required field is missing.
func loadChangelog(file []byte) ([]change, error) {
	var all []change
	decoder := yaml.NewDecoder(bytes.NewReader(file))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("httpapi: changelog: %w", err)
	}
	seen := map[string]bool{}
	for i := range all {
		if err := all[i].check(); err != nil {
			return nil, fmt.Errorf("httpapi: changelog: entry %d, %q: %w", i+1, all[i].ID, err)
		}
		if seen[all[i].ID] {
			return nil, fmt.Errorf("httpapi: changelog: duplicate id %q", all[i].ID)
		}
		seen[all[i].ID] = true
	}
	slices.SortStableFunc(all, func(a, b change) int { return b.date.Compare(a.date) })
	return all, nil
}

func (c *change) check() (err error) {
	if c.ID == "" || c.Version == "" || c.Title == "" || c.Description == "" || !c.Type.Valid() {
		return errors.New("id, version, type, title and description are required")
	}
	if (c.Type == api.Deprecation || c.Type == api.Breaking) && c.Migration == "" {
		return errors.New("migration is required for a deprecation and a breaking change")
	}
	if c.date, err = time.Parse(time.DateOnly, c.Date); err != nil {
		return err
	}
	if c.SunsetAt != "" {
		c.sunset, err = time.Parse(time.DateOnly, c.SunsetAt)
	}
	return err
}

// ListChanges answers GET /v1/changelog.
func (s *server) ListChanges(_ context.Context, r api.ListChangesRequestObject) (api.ListChangesResponseObject, error) {
	wanted := given(r.Params.Type)
	out := api.ListChanges200JSONResponse{Object: api.ChangeListObjectList, Data: []api.Change{}}
	for _, c := range s.changes {
		if wanted == "" || c.Type == wanted {
			out.Data = append(out.Data, s.renderChange(c))
		}
	}
	return out, nil
}

func (s *server) renderChange(c change) api.Change {
	out := api.Change{
		Id: c.ID, Date: types.Date{Time: c.date}, Version: c.Version, Type: c.Type, Title: c.Title, Description: c.Description,
		Endpoints: slices.Clone(c.Endpoints), DocsUrl: s.url(c.anchor()),
	}
	if out.Endpoints == nil {
		out.Endpoints = []string{}
	}
	if c.Migration != "" {
		out.Migration = &c.Migration
	}
	if !c.sunset.IsZero() {
		out.SunsetAt = &types.Date{Time: c.sunset}
	}
	return out
}

// pageChanges converts the changelog for its page.
func pageChanges(changes []change) []pages.Change {
	all := make([]pages.Change, len(changes))
	for i, c := range changes {
		all[i] = pages.Change{
			ID: c.ID, Date: c.Date, Version: c.Version, Type: string(c.Type), Title: c.Title, Description: c.Description,
			Migration: c.Migration, SunsetAt: c.SunsetAt, Endpoints: c.Endpoints,
		}
	}
	return all
}

// deprecated returns the deprecations, which responses mention in their headers.
func deprecated(changes []change, publicURL string) []edge.Deprecation {
	var all []edge.Deprecation
	for _, c := range changes {
		if c.Type == api.Deprecation {
			all = append(all, edge.Deprecation{ID: c.ID, Since: c.date, Sunset: c.sunset, Endpoints: c.Endpoints, URL: publicURL + c.anchor()})
		}
	}
	return all
}
