package pages

import (
	"vqa/docs"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// form is one row of the page about question forms.
type form struct {
	Intent   query.Intent
	Example  string
	Answered bool
}

// forms lists the question forms. Whether a form is answered comes from the query compiler,
// so that the page always matches the service.
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
		q := english.Compile(examples[i].Example)
		examples[i].Answered = q.PromptIntent == examples[i].Intent && answer.Assessable(q)
	}
	return examples
}

// Docs renders the API reference, or a plain page if the renderer is not installed.
func (p *Pages) Docs() (Page, error) {
	const title = "Video question answering"
	if !p.assets.installed {
		return rendered(docsPage, readingPolicy, map[string]any{"Title": title})
	}
	return rendered(referencePage, referencePolicy, map[string]any{
		"Title": title, "Renderer": p.assets.renderer.url(), "RendererStyle": p.assets.rendererStyle.url(),
		"Script": p.assets.script.url(), "Style": p.assets.style.url(),
	})
}

// Errors renders the list of error codes.
func (p *Pages) Errors() (Page, error) {
	return rendered(errorsPage, readingPolicy, map[string]any{"Title": "Error codes", "Entries": fault.Registry()})
}

// Questions renders the list of question forms.
func (p *Pages) Questions() (Page, error) {
	return rendered(questionsPage, readingPolicy, map[string]any{"Title": "Supported questions", "Forms": forms()})
}

// Quickstart renders docs/quickstart.md with the address of this service.
func (p *Pages) Quickstart() (Page, error) {
	g, err := renderGuide(docs.Quickstart, p.PublicURL)
	if err != nil {
		return Page{}, err
	}
	return rendered(guidePage, readingPolicy, map[string]any{"Title": g.Title, "Body": g.Body})
}
