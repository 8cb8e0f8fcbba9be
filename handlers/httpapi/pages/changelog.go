package pages

import "strings"

// Change is one entry of the changelog.
type Change struct {
	ID, Date, Version, Type       string
	Title, Description, Migration string
	// SunsetAt is the date of the removal, or empty if it is not known.
	SunsetAt string
	// Endpoints are the changed operations, as "METHOD path".
	Endpoints []string
}

// Heading returns the title as fragments.
func (c Change) Heading() []Fragment { return fragments(c.Title) }

// Summary returns the description as fragments.
func (c Change) Summary() []Fragment { return fragments(c.Description) }

// Advice returns the migration as fragments.
func (c Change) Advice() []Fragment { return fragments(c.Migration) }

// Fragment is a piece of plain text or of code.
type Fragment struct {
	Text string
	Code bool
}

// fragments divides a text at its backquotes.
func fragments(text string) []Fragment {
	var all []Fragment
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			all = append(all, Fragment{part, i%2 == 1})
		}
	}
	return all
}

// Changelog renders the list of changes.
func (p *Pages) Changelog() (Page, error) {
	return rendered(changelogPage, readingPolicy, map[string]any{"Title": "What changed", "Changes": p.Changes})
}
