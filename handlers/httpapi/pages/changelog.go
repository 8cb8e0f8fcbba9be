package pages

import "strings"

// Change is one entry of the changelog, in the words of the page.
type Change struct {
	ID, Date, Version, Type       string
	Title, Description, Migration string
	// SunsetAt is a date, or empty when nobody knows when the thing goes away.
	SunsetAt string
	// Endpoints are operations as "METHOD path".
	Endpoints []string
}

// Summary and Advice are the entry's words as the parts of a page.
func (c Change) Summary() []span { return spans(c.Description) }

// Advice is what to do about it; see Summary.
func (c Change) Advice() []span { return spans(c.Migration) }

// Heading is the title as the parts of a page.
func (c Change) Heading() []span { return spans(c.Title) }

// span is a piece of text, or of code.
type span struct {
	Text string
	Code bool
}

// spans divides text at its backquotes.
func spans(text string) []span {
	var all []span
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			all = append(all, span{part, i%2 == 1})
		}
	}
	return all
}

// Changelog lists the changes of the API.
func (p *Pages) Changelog() (Page, error) {
	return rendered(changelogPage, readingPolicy, map[string]any{"Title": "What changed", "Changes": p.Changes})
}
