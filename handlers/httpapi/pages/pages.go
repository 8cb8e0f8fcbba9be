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

//go:embed assets/passkeys.js
var passkeyScript []byte

// The templates. docs_url and unsupported_action.docs_url are links to these pages.
var (
	// docsPage replaces referencePage if the renderer is not installed.
	docsPage      = chapter("docs.html")
	referencePage = template.Must(template.ParseFS(pageFiles, "templates/reference.html", "templates/nav.html"))
	errorsPage    = chapter("errors.html")
	questionsPage = chapter("questions.html")
	changelogPage = chapter("changelog.html")
	guidePage     = chapter("guide.html")
	homePage      = chapter("home.html")
	claimTemplate = page("claim.html")
	livePage      = chapter("live.html")
	signInPage    = people("signin.html")
	accountPage   = people("account.html")
	problemPage   = people("problem.html")

	consentTemplate = page("consent.html")
	agentsTemplate  = people("agents.html")
)

func page(file string) *template.Template {
	return template.Must(template.ParseFS(pageFiles, "templates/layout.html", "templates/"+file))
}

// people parses a page of a person who signs in.
func people(file string) *template.Template {
	return template.Must(page(file).ParseFS(pageFiles, "templates/people.html"))
}

// chapter parses a page with links to the other pages of the documentation.
func chapter(file string) *template.Template {
	return template.Must(page(file).ParseFS(pageFiles, "templates/nav.html"))
}

// Options configure the pages.
type Options struct {
	// PublicURL is the address of the service, without a trailing slash.
	PublicURL string
	// Version is the version of the contract.
	Version string
	// Changes are the entries of the changelog, newest first.
	Changes []Change
	// Reference are the files that render the contract (package reference). If it is nil,
	// Docs is a plain page.
	Reference fs.FS
}

// Pages renders pages. It is safe for concurrent use.
type Pages struct {
	Options
	assets assets
	// live are the modules of the page /live, by the names that they import each other by.
	live map[string]Asset
}

// New fails if a file of o.Reference cannot be read.
func New(o Options) (*Pages, error) {
	a, err := loadAssets(o.Reference)
	if err != nil {
		return nil, err
	}
	modules, err := loadLive()
	return &Pages{Options: o, assets: a, live: modules}, err
}

// Page is a rendered page with its security headers.
type Page struct {
	HTML    []byte
	Headers map[string]string
}

// The content security policies. They forbid other hosts, frames and inline code, except
// for the styles of the template. The renderer of the reference has icons as data images,
// and sends requests to this service: for the contract, and those that the reader tries.
const (
	readingPolicy   = "default-src 'none'; style-src %s; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// homePolicy also allows the thumbnails of this service.
	homePolicy = "default-src 'none'; style-src %s; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// livePolicy also allows the scripts of the page, its requests and sockets to this service, and a file of the reader.
	livePolicy = "default-src 'none'; script-src 'self'; style-src %s; img-src data:; connect-src 'self'; media-src blob:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	claimPolicy = "default-src 'none'; img-src data:; style-src %s; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// rendered executes a template. The %s in a policy is replaced by the hashes of the page's
// styles.
func rendered(t *template.Template, policy string, data map[string]any) (Page, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", data); err != nil {
		return Page{}, fmt.Errorf("httpapi/pages: rendering a page: %w", err)
	}
	if policy != referencePolicy {
		policy = fmt.Sprintf(policy, styleHashes(b.Bytes()))
	}
	return Page{HTML: b.Bytes(), Headers: map[string]string{"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}}, nil
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// styleHashes returns the hashes of the inline styles of a page for its content security
// policy, so that injected styles are ignored.
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
