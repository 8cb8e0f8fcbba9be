package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/reference"
)

func TestReferenceIsServedFromHereAlone(t *testing.T) {
	t.Parallel()
	files, err := reference.Open("")
	require.NoError(t, err, "make setup installs it")
	w := open(t, func(o *httpapi.Options) { o.Reference = files })
	page := w.do(http.MethodGet, "/docs", "")
	require.Equal(t, http.StatusOK, page.StatusCode)
	policy := page.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'; script-src 'self'")
	require.NotContains(t, policy, "unsafe")
	needs := regexp.MustCompile(`(?:src|href)="(/docs/assets/[^"]+)"`).FindAllStringSubmatch(string(page.raw), -1)
	require.Len(t, needs, 4)
	require.NotContains(t, string(page.raw), "//", "nothing from another host")
	for _, need := range needs {
		file := w.do(http.MethodGet, need[1], "")
		require.Equal(t, http.StatusOK, file.StatusCode, need[1])
		require.Equal(t, "public, max-age=31536000, immutable", file.Header.Get("Cache-Control"))
		require.Regexp(t, "^text/(javascript|css); charset=utf-8$", file.Header.Get("Content-Type"))
		require.NotEmpty(t, file.raw)
		same := w.do(http.MethodGet, need[1], "", "If-None-Match", file.Header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, same.StatusCode)
		require.Empty(t, same.raw)
	}
	// The name of another release does not exist.
	w.refused(w.do(http.MethodGet, "/docs/assets/swagger-ui.000000000000.css", ""), 404, fault.ResourceNotFound, "")
	w.refused(w.do(http.MethodGet, "/docs/assets/..%2Fdocs.html", ""), 404, fault.ResourceNotFound, "")
}

func TestDocsWithoutTheRenderer(t *testing.T) {
	t.Parallel()
	w := open(t)
	page := w.do(http.MethodGet, "/docs", "")
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Contains(t, string(page.raw), "make setup")
	w.refused(w.do(http.MethodGet, "/docs/assets/swagger-ui.css", ""), 404, fault.ResourceNotFound, "")
}

// TestLivePageIsServedFromHereAlone: the page loads only its own modules, and each import of a module exists.
func TestLivePageIsServedFromHereAlone(t *testing.T) {
	t.Parallel()
	w := open(t)
	page := w.do(http.MethodGet, "/live", "")
	require.Equal(t, http.StatusOK, page.StatusCode)
	policy := page.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'; script-src 'self'; style-src 'sha256-")
	require.NotContains(t, policy, "unsafe")
	require.Contains(t, page.Header.Get("Permissions-Policy"), "microphone=()")
	text := string(page.raw)
	require.Contains(t, text, "curl -s "+w.url+"/v1/client_tokens")
	require.NotContains(t, strings.ReplaceAll(text, w.url, ""), "//", "nothing from another host")
	root := regexp.MustCompile(`src="/live/([^"]+)"`).FindStringSubmatch(text)
	require.NotNil(t, root)
	imports, loaded := regexp.MustCompile(`from "\./([^"]+)"`), map[string]bool{}
	for waiting := []string{root[1]}; len(waiting) > 0; waiting = waiting[1:] {
		if loaded[waiting[0]] {
			continue
		}
		loaded[waiting[0]] = true
		module := w.do(http.MethodGet, "/live/"+waiting[0], "")
		require.Equal(t, http.StatusOK, module.StatusCode, waiting[0])
		require.Equal(t, "text/javascript; charset=utf-8", module.Header.Get("Content-Type"))
		require.Equal(t, "no-cache", module.Header.Get("Cache-Control"))
		same := w.do(http.MethodGet, "/live/"+waiting[0], "", "If-None-Match", module.Header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, same.StatusCode)
		for _, found := range imports.FindAllStringSubmatch(string(module.raw), -1) {
			waiting = append(waiting, found[1])
		}
	}
	require.Greater(t, len(loaded), 3)
	w.refused(w.do(http.MethodGet, "/live/other.js", ""), 404, fault.ResourceNotFound, "")
}

// TestLinksOfPagesWork: every link of every page works.
func TestLinksOfPagesWork(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	seen := map[string]bool{}
	link := regexp.MustCompile(`href="([^"]*)"`)
	var visit func(path string)
	visit = func(path string) {
		path, anchor, _ := strings.Cut(path, "#")
		got := w.do(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, got.StatusCode, path)
		if anchor != "" {
			require.Contains(t, string(got.raw), `id="`+anchor+`"`, path)
		}
		if seen[path] || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			return
		}
		seen[path] = true
		require.Contains(t, got.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.Contains(t, string(got.raw), `aria-label="Documentation"`, path)
		for _, found := range link.FindAllStringSubmatch(string(got.raw), -1) {
			switch to := found[1]; {
			case strings.HasPrefix(to, "#"):
				require.Contains(t, string(got.raw), `id="`+to[1:]+`"`, path)
			case strings.HasPrefix(to, "data:"):
			case strings.HasPrefix(to, "/account/"), strings.HasPrefix(to, "/signin"): // for people
				require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, w.visitor().open(to).StatusCode, to)
			default:
				require.True(t, strings.HasPrefix(to, "/"), "%s links to %s", path, to)
				visit(to)
			}
		}
	}
	visit("/docs")
	for _, page := range []string{"/docs/errors", "/docs/questions", "/docs/changelog", "/docs/quickstart", "/live"} {
		require.True(t, seen[page], page)
	}
}

func TestChangesAreListed(t *testing.T) {
	t.Parallel()
	w := open(t)
	all := w.do(http.MethodGet, "/v1/changelog", "").items()
	require.NotEmpty(t, all)
	deprecations := w.do(http.MethodGet, "/v1/changelog?type=deprecation", "").items()
	require.NotEmpty(t, deprecations)
	require.Less(t, len(deprecations), len(all))
	page := string(w.do(http.MethodGet, "/docs/changelog", "").raw)
	for _, c := range all {
		require.Equal(t, w.url+"/docs/changelog#"+c["id"].(string), c["docs_url"])
		require.Contains(t, page, `id="`+c["id"].(string)+`"`)
	}
	for _, c := range deprecations {
		require.Equal(t, "deprecation", c["type"])
		require.NotEmpty(t, c["migration"])
	}
	require.Empty(t, w.do(http.MethodGet, "/v1/changelog?type=breaking", "").items())
	w.refused(w.do(http.MethodGet, "/v1/changelog?type=other", ""), 400, fault.ValidationFailed, "type")
}

// TestDeprecatedEndpointsHaveHeaders: responses of a deprecated endpoint have the headers.
func TestDeprecatedEndpointsHaveHeaders(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(10)
	usage := c.do(http.MethodGet, "/v1/usage", "")
	require.Equal(t, "@1795219200", usage.Header.Get("Deprecation"))
	require.Contains(t, usage.Header.Get("Link"), w.url+`/docs/changelog#usage-flat-fields>; rel="deprecation"`)
	require.Empty(t, c.do(http.MethodGet, "/v1/credits", "").Header.Get("Deprecation"))
	videoID := c.ready()
	for name, deprecated := range map[string]bool{"sight-0": true, "SIGHT-0": true, "sight-1": false, "latest": false} {
		got := c.do(http.MethodPost, "/v1/analyses",
			`{"video_id": "`+videoID+`", "prompt": "Is there a dog?", "validate_only": true, "model": "`+name+`"}`)
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		require.Equal(t, deprecated, strings.Contains(got.Header.Get("Link"), "/docs/changelog#model-aliases"), name)
	}
}

// TestIndexListsEverySurface: every public read without a parameter is in the index.
func TestIndexListsEverySurface(t *testing.T) {
	t.Parallel()
	w := open(t)
	links := w.do(http.MethodGet, "/", "").at("links").(map[string]any)
	listed := map[string]bool{}
	for name, to := range links {
		path, own := strings.CutPrefix(to.(string), w.url)
		require.True(t, own, name)
		listed[path] = true
	}
	for _, surface := range []string{
		"/v1/openapi.json", "/v1/errors", "/v1/changelog", "/v1/models", "/v1/test-fixture", "/v1/demo-videos", "/v1/credit-pricing",
		"/v1/schemas/compiled-query.json", "/.well-known/vqa-ledger-keys.json", "/v1/sandbox", "/docs", "/docs/errors",
		"/docs/questions", "/docs/changelog", "/docs/quickstart", "/robots.txt", "/healthz", "/readyz", "/metrics",
	} {
		require.True(t, listed[surface], surface)
	}
}

// TestHomeIsAPageForBrowsers: clients with the headers of a browser get a page, others JSON.
func TestHomeIsAPageForBrowsers(t *testing.T) {
	t.Parallel()
	w, store, scene := demoWorld(t)
	w.drawn(store, scene)
	browser := "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	page := w.do(http.MethodGet, "/", "", "Accept", browser)
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Regexp(t, "^text/html", page.Header.Get("Content-Type"))
	require.Equal(t, "Accept", page.Header.Get("Vary"))
	policy := page.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	text := string(page.raw)
	require.NotContains(t, text, "//", "nothing from another host")
	require.Contains(t, text, scene.DisplayName)
	for _, found := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if to := found[1]; !strings.HasPrefix(to, "data:") && to != "/readyz" {
			require.Equal(t, http.StatusOK, w.do(http.MethodGet, to, "").StatusCode, to)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json", "application/json, text/html;q=0.5"} {
		index := w.do(http.MethodGet, "/", "", "Accept", accept)
		require.Equal(t, "index", index.at("object"), accept)
		require.Equal(t, "Accept", index.Header.Get("Vary"))
		require.NotEqual(t, page.Header.Get("ETag"), index.Header.Get("ETag"))
	}
}
