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

// quickstartURL is the service's address in the text.
const quickstartURL = "http://127.0.0.1:8080"

// repositoryLink is a link that leads somewhere in the repository alone.
var repositoryLink = regexp.MustCompile(`\[([^\]]+)\]\(\.\.?/[^)]*\)`)

// guide is a text of the repository as a page of this service.
type guide struct {
	Title string
	Body  template.HTML
}

// renderGuide makes the page of a Markdown text that begins with its title. Addresses in
// it become those of this service.
func renderGuide(text, publicURL string) (guide, error) {
	title, rest, found := strings.Cut(text, "\n")
	title, isTitle := strings.CutPrefix(title, "# ")
	if !found || !isTitle {
		return guide{}, fmt.Errorf("httpapi: a guide begins with its title")
	}
	rest = repositoryLink.ReplaceAllString(strings.ReplaceAll(rest, quickstartURL, publicURL), "$1")
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(markdownparser.WithAutoHeadingID()))
	var b bytes.Buffer
	if err := markdown.Convert([]byte(rest), &b); err != nil {
		return guide{}, fmt.Errorf("httpapi: a guide: %w", err)
	}
	// The text is part of the program, and goldmark leaves out HTML that stands in it.
	return guide{Title: title, Body: template.HTML(b.String())}, nil //nolint:gosec // G203
}
