package httpapi

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"

	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/handlers/httpapi/api"
)

//go:embed pages/*.html pages/assets
var pageFiles embed.FS

// The pages for people; docs_url and unsupported_action.docs_url point into them.
var (
	// docsPage stands in for referencePage where no renderer is installed.
	docsPage      = chapter("docs.html")
	referencePage = template.Must(template.ParseFS(pageFiles, "pages/reference.html", "pages/nav.html"))
	errorsPage    = chapter("errors.html")
	questionsPage = chapter("questions.html")
	changelogPage = chapter("changelog.html")
	guidePage     = chapter("guide.html")
)

func page(file string) *template.Template {
	return template.Must(template.ParseFS(pageFiles, "pages/layout.html", "pages/"+file))
}

// chapter is a page of the documentation: one with links to the others.
func chapter(file string) *template.Template {
	return template.Must(page(file).ParseFS(pageFiles, "pages/nav.html"))
}

// form is one row of the page of questions.
type form struct {
	Intent   query.Intent
	Example  string
	Answered bool
}

// forms asks the domain which forms it answers today, so that the page cannot be
// ahead of the service.
func forms() []form {
	examples := []form{
		{Intent: query.Presence, Example: "Is there a dog?"},
		{Intent: query.Absence, Example: "Are there no people?"},
		{Intent: query.Count, Example: "How many cars are there?"},
		{Intent: query.CountThreshold, Example: "Are there at least three people?"},
		{Intent: query.Action, Example: "Is someone sitting?"},
		{Intent: query.Attribute, Example: "Is there a red car?"},
		{Intent: query.Location, Example: "Is there a person on the left?"},
		{Intent: query.State, Example: "Is the door open?"},
		{Intent: query.Compound, Example: "Is there a dog and a cat?"},
		{Intent: query.Segment, Example: "Is there a truck in the first ten seconds?"},
		{Intent: query.OpenEnded, Example: "What happens in this video?"},
	}
	for i := range examples {
		q := query.Compile(examples[i].Example)
		examples[i].Answered = q.PromptIntent == examples[i].Intent && query.Assessable(q)
	}
	return examples
}

func rendered(t *template.Template, data map[string]any) (*bytes.Buffer, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", data); err != nil {
		return nil, fmt.Errorf("rendering a page: %w", err)
	}
	return &b, nil
}

// The policies of pages: nothing from elsewhere, nothing framed, nothing inline but the
// styles that the page was made with. The renderer of the reference makes images of its
// icons, and asks this service for the contract and for what the reader tries.
const (
	readingPolicy   = "default-src 'none'; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// guard sets the headers of a page for people.
func guard(ctx context.Context, policy string) {
	h := exchangeOf(ctx).response.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
}

// guarded makes a page for reading.
func guarded(ctx context.Context, t *template.Template, data map[string]any) (*bytes.Buffer, error) {
	b, err := rendered(t, data)
	if err != nil {
		return nil, err
	}
	guard(ctx, fmt.Sprintf(readingPolicy, styleHashes(b.Bytes())))
	return b, nil
}

// GetDocs answers GET /docs.
func (s *server) GetDocs(ctx context.Context, _ api.GetDocsRequestObject) (api.GetDocsResponseObject, error) {
	const title = "Video question answering"
	if !s.assets.installed {
		b, err := guarded(ctx, docsPage, map[string]any{"Title": title})
		if err != nil {
			return nil, err
		}
		return api.GetDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
	}
	b, err := rendered(referencePage, map[string]any{
		"Title": title, "Renderer": s.assets.renderer.url(), "RendererStyle": s.assets.rendererStyle.url(),
		"Script": s.assets.script.url(), "Style": s.assets.style.url(),
	})
	if err != nil {
		return nil, err
	}
	guard(ctx, referencePolicy)
	return api.GetDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

// GetErrorDocs answers GET /docs/errors.
func (s *server) GetErrorDocs(ctx context.Context, _ api.GetErrorDocsRequestObject) (api.GetErrorDocsResponseObject, error) {
	b, err := guarded(ctx, errorsPage, map[string]any{"Title": "Error codes", "Entries": fault.Registry()})
	if err != nil {
		return nil, err
	}
	return api.GetErrorDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

// GetQuestionDocs answers GET /docs/questions.
func (s *server) GetQuestionDocs(ctx context.Context, _ api.GetQuestionDocsRequestObject) (api.GetQuestionDocsResponseObject, error) {
	b, err := guarded(ctx, questionsPage, map[string]any{"Title": "Which questions are answered", "Forms": forms()})
	if err != nil {
		return nil, err
	}
	return api.GetQuestionDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}
