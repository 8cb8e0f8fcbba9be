package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAuthorizeAnAgentWithABrowser connects the TypeScript SDK to the real service. The operator signs in with a one-time
// link and allows the program on the consent page, in Chromium. The agent gets its answer, and the operator finds and
// revokes it.
func TestAuthorizeAnAgentWithABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	kit := filepath.Join(root, "handlers/mcp/clients")
	if _, err := os.Stat(filepath.Join(kit, "node_modules")); err != nil {
		t.Skip("make setup could not install the SDKs of agents")
	}
	s := ownService(t)
	redirects := make(chan string, 1)
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			redirects <- "http://127.0.0.1" + r.URL.RequestURI()
			_, _ = io.WriteString(w, "<title>connected</title>")
		}
	}))
	t.Cleanup(callback.Close)
	agent := exec.CommandContext(t.Context(), "node", "agent.js", "2", "http://"+s.addr+"/mcp")
	agent.Dir, agent.Env = kit, append(os.Environ(), "VQA_REDIRECT="+callback.URL+"/callback")
	var stderr strings.Builder
	agent.Stderr = &stderr
	in, err := agent.StdinPipe()
	require.NoError(t, err)
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the agent prints nothing")
	var asked struct{ Authorize string }
	require.NoError(t, json.Unmarshal(lines.Bytes(), &asked), lines.Text())

	b := visit(t, asked.Authorize, "")
	b.await(`location.pathname === "/signin" && document.readyState === "complete"`)
	back := b.eval(`new URLSearchParams(location.search).get("return_to")`).(string)
	require.True(t, strings.HasPrefix(back, "/authorize?"), back)
	b.call("Page.navigate", map[string]any{"url": s.oneTimeLink(t) + "&return_to=" + url.QueryEscape(back)})
	b.await(`!!document.querySelector("button.main")`)
	b.click("button.main")
	b.await(`location.pathname === "/authorize" && document.readyState === "complete"`)
	b.picture("consent")
	require.Contains(t, b.eval(`document.body.innerText`), strings.TrimPrefix(callback.URL, "http://"))
	require.Contains(t, b.eval(`document.body.innerText`), "unverified")
	b.click(`input[name="mode"][value="test"]`)
	b.click(`button[value="allow"]`)
	b.await(`document.title === "connected"`)
	_, err = io.WriteString(in, <-redirects+"\n")
	require.NoError(t, err)
	var printed []string
	for lines.Scan() {
		printed = append(printed, lines.Text())
	}
	require.NoError(t, agent.Wait(), stderr.String())
	require.Len(t, printed, 7, printed)
	var created struct {
		Result struct {
			Analysis struct{ ID, Status, Answer string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(printed[3]), &created), printed[3])
	require.Equal(t, "completed", created.Result.Analysis.Status, printed[3])

	why := string(s.tool(t, "why", created.Result.Analysis.ID))
	require.Regexp(t, `by grant_\w+ \(agent "agent.js", client_\w+\)`, why)
	b.call("Page.navigate", map[string]any{"url": "http://" + s.addr + "/account/agents"})
	b.await(`!!document.querySelector('form[action="/account/agents"] button')`)
	b.picture("account-agents")
	account := fmt.Sprint(b.eval(`document.querySelector("main code").textContent`))
	var listed []struct {
		GrantID string `json:"grant_id"`
		Status  string
	}
	require.NoError(t, json.Unmarshal(s.tool(t, "grants", "list", "--account", account, "--json"), &listed))
	require.Len(t, listed, 1)
	require.Equal(t, "active", listed[0].Status)
	b.click(`form[action="/account/agents"] button`)
	b.await(`document.body?.innerText.includes("The permission is revoked.")`)
	require.NoError(t, json.Unmarshal(s.tool(t, "grants", "list", "--account", account, "--json"), &listed))
	require.Equal(t, "revoked", listed[0].Status)
	require.Empty(t, b.complaints)
}
