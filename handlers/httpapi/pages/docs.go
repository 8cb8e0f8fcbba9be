package pages

import (
	"vqa/docs"
	"vqa/domain/fault"
	"vqa/domain/query"
)

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

// Docs is the rendered contract, or a plain page where its renderer is not installed.
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

// Errors lists the error codes.
func (p *Pages) Errors() (Page, error) {
	return rendered(errorsPage, readingPolicy, map[string]any{"Title": "Error codes", "Entries": fault.Registry()})
}

// Questions lists the forms of questions and which of them are answered.
func (p *Pages) Questions() (Page, error) {
	return rendered(questionsPage, readingPolicy, map[string]any{"Title": "Which questions are answered", "Forms": forms()})
}

// Quickstart is docs/quickstart.md with the address of this service.
func (p *Pages) Quickstart() (Page, error) {
	g, err := renderGuide(docs.Quickstart, p.PublicURL)
	if err != nil {
		return Page{}, err
	}
	return rendered(guidePage, readingPolicy, map[string]any{"Title": g.Title, "Body": g.Body})
}
