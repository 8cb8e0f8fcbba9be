package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

//go:embed templates/*.html assets
var pageFiles embed.FS

// The pages for people; docs_url and unsupported_action.docs_url point into them.
var (
	// docsPage stands in for referencePage where no renderer is installed.
	docsPage      = chapter("docs.html")
	referencePage = template.Must(template.ParseFS(pageFiles, "templates/reference.html", "templates/nav.html"))
	errorsPage    = chapter("errors.html")
	questionsPage = chapter("questions.html")
	changelogPage = chapter("changelog.html")
	guidePage     = chapter("guide.html")
	homePage      = chapter("home.html")
	claimTemplate = page("claim.html")
)

func page(file string) *template.Template {
	return template.Must(template.ParseFS(pageFiles, "templates/layout.html", "templates/"+file))
}

// chapter is a page of the documentation: one with links to the others.
func chapter(file string) *template.Template {
	return template.Must(page(file).ParseFS(pageFiles, "templates/nav.html"))
}

// Options are what the pages are made of.
type Options struct {
	// PublicURL is the address of the service, without a trailing slash.
	PublicURL string
	// Version is that of the contract.
	Version string
	// Changes are the changelog, newest first.
	Changes []Change
	// Reference are the files that render the contract (package reference); nil when they
	// are not installed, and then Docs is a plain page.
	Reference fs.FS
}

// Pages renders pages. It is safe for concurrent use.
type Pages struct {
	Options
	assets assets
}

// New fails when a file that the pages need cannot be read.
func New(o Options) (*Pages, error) {
	a, err := loadAssets(o.Reference)
	return &Pages{Options: o, assets: a}, err
}

// Page is a page with the headers that guard its reader.
type Page struct {
	HTML    []byte
	Headers map[string]string
}

// The policies of pages: nothing from elsewhere, nothing framed, nothing inline but the
// styles that the page was made with. The renderer of the reference makes images of its
// icons, and asks this service for the contract and for what the reader tries.
const (
	readingPolicy   = "default-src 'none'; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// homePolicy is the policy of pages for reading, with the thumbnails of this service.
	homePolicy  = "default-src 'none'; style-src %s; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	claimPolicy = "default-src 'none'; img-src data:; style-src %s; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// rendered makes a page. A policy with a place for styles gets the hashes of the page's own.
func rendered(t *template.Template, policy string, data map[string]any) (Page, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", data); err != nil {
		return Page{}, fmt.Errorf("rendering a page: %w", err)
	}
	if policy != referencePolicy {
		policy = fmt.Sprintf(policy, styleHashes(b.Bytes()))
	}
	return Page{HTML: b.Bytes(), Headers: map[string]string{"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}}, nil
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// styleHashes names the inline styles of a page as a content security policy does, so
// that these run and none that was slipped in.
func styleHashes(page []byte) string {
	var hashes []string
	for _, style := range styleElement.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(style[1])
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	if len(hashes) == 0 {
		return "'none'"
	}
	return strings.Join(slices.Compact(hashes), " ")
}
