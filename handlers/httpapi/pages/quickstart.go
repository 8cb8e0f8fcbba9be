package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	markdownparser "github.com/yuin/goldmark/parser"
)

// quickstartURL is the address of the service in docs/quickstart.md.
const quickstartURL = "http://127.0.0.1:8080"

// repositoryLink matches a link to a file of the repository, which the service does not
// serve.
var repositoryLink = regexp.MustCompile(`\[([^\]]+)\]\(\.\.?/[^)]*\)`)

// guide is a Markdown file of the repository as HTML.
type guide struct {
	Title string
	Body  template.HTML
}

// renderGuide converts a Markdown text that starts with its title. It replaces the address
// in the text by the address of this service.
func renderGuide(text, publicURL string) (guide, error) {
	title, rest, found := strings.Cut(text, "\n")
	title, isTitle := strings.CutPrefix(title, "# ")
	if !found || !isTitle {
		return guide{}, fmt.Errorf("httpapi/pages: a guide must start with a title")
	}
	rest = repositoryLink.ReplaceAllString(strings.ReplaceAll(rest, quickstartURL, publicURL), "$1")
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(markdownparser.WithAutoHeadingID()))
	var b bytes.Buffer
	if err := markdown.Convert([]byte(rest), &b); err != nil {
		return guide{}, fmt.Errorf("httpapi/pages: converting a guide: %w", err)
	}
	// The text is part of the program, and goldmark removes HTML from it.
	return guide{Title: title, Body: template.HTML(b.String())}, nil //nolint:gosec // G203
}
