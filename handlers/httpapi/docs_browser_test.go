package httpapi_test

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/reference"
)

// browserTimeout is the time limit of a visit, most of which is the start of the browser.
const browserTimeout = time.Minute

// TestBrowserShowsEveryOperation renders /docs in a browser, with the content security policy of
// the page and without access to other hosts.
func TestBrowserShowsEveryOperation(t *testing.T) {
	t.Parallel()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine")
	}
	files, err := reference.Open("")
	require.NoError(t, err, "make setup installs it")
	w := open(t, func(o *httpapi.Options) { o.Reference = files })
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	defer cancel()
	var complaints strings.Builder
	visit := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom",
		w.url+"/docs")
	visit.Stderr = &complaints
	dom, err := visit.Output()
	require.NoError(t, err, complaints.String())
	require.NotContains(t, complaints.String(), "CONSOLE", "the content security policy refused something, or a script failed")
	shown := 0
	paths, _ := w.do(http.MethodGet, "/v1/openapi.json", "").at("paths").(map[string]any)
	for path, item := range paths {
		for method, described := range item.(map[string]any) {
			operation, ok := described.(map[string]any)
			if !ok {
				continue // the parameters of a path
			}
			shown++
			require.Contains(t, string(dom), "-"+operation["operationId"].(string)+`"`, "%s %s", method, path)
		}
	}
	require.Greater(t, shown, 40)
	require.GreaterOrEqual(t, strings.Count(string(dom), `class="opblock opblock-`), shown, "webhooks are listed")
}
