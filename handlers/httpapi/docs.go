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

//go:embed pages/*.html
var pageFiles embed.FS

// The pages for people; docs_url and unsupported_action.docs_url point into them.
var (
	docsPage      = page("docs.html")
	errorsPage    = page("errors.html")
	questionsPage = page("questions.html")
	changelogPage = page("changelog.html")
)

func page(file string) *template.Template {
	return template.Must(template.ParseFS(pageFiles, "pages/layout.html", "pages/"+file))
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
		{Intent: query.Action, Example: "Is someone running?"},
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

// GetDocs answers GET /docs.
func (s *server) GetDocs(context.Context, api.GetDocsRequestObject) (api.GetDocsResponseObject, error) {
	b, err := rendered(docsPage, map[string]any{"Title": "Video question answering"})
	if err != nil {
		return nil, err
	}
	return api.GetDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

// GetErrorDocs answers GET /docs/errors.
func (s *server) GetErrorDocs(context.Context, api.GetErrorDocsRequestObject) (api.GetErrorDocsResponseObject, error) {
	b, err := rendered(errorsPage, map[string]any{"Title": "Error codes", "Entries": fault.Registry()})
	if err != nil {
		return nil, err
	}
	return api.GetErrorDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

// GetQuestionDocs answers GET /docs/questions.
func (s *server) GetQuestionDocs(context.Context, api.GetQuestionDocsRequestObject) (api.GetQuestionDocsResponseObject, error) {
	b, err := rendered(questionsPage, map[string]any{"Title": "Which questions are answered", "Forms": forms()})
	if err != nil {
		return nil, err
	}
	return api.GetQuestionDocs200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}
