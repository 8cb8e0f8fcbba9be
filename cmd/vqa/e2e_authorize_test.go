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

// agent is the TypeScript SDK, which asks a person for a permission.
type agent struct {
	t *testing.T
	// authorize is the address that the person opens, and host is where the browser goes afterwards.
	authorize, host string
	redirects       chan string
	in              io.Writer
	lines           *bufio.Scanner
	cmd             *exec.Cmd
	said            *journal
}

// startAgent starts an agent that knows the address of the tools and nothing else.
func startAgent(t *testing.T, s *service) *agent {
	t.Helper()
	kit := filepath.Join(root, "handlers/mcp/clients")
	if _, err := os.Stat(filepath.Join(kit, "node_modules")); err != nil {
		t.Skip("make test-setup could not install the SDKs of agents")
	}
	a := &agent{t: t, redirects: make(chan string, 1), said: &journal{}}
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			a.redirects <- "http://127.0.0.1" + r.URL.RequestURI()
			_, _ = io.WriteString(w, "<title>connected</title>")
		}
	}))
	t.Cleanup(callback.Close)
	a.host = strings.TrimPrefix(callback.URL, "http://")
	a.cmd = exec.CommandContext(t.Context(), "node", "agent.js", "2", "http://"+s.addr+"/mcp")
	a.cmd.Dir, a.cmd.Env = kit, append(os.Environ(), "VQA_REDIRECT="+callback.URL+"/callback")
	a.cmd.Stderr = a.said
	var err error
	a.in, err = a.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := a.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, a.cmd.Start())
	a.lines = bufio.NewScanner(out)
	require.True(t, a.lines.Scan(), "the agent prints nothing: %s", a.said)
	var asked struct{ Authorize string }
	require.NoError(t, json.Unmarshal(a.lines.Bytes(), &asked), a.lines.Text())
	a.authorize = asked.Authorize
	return a
}

// finish passes the redirect of the browser to the agent, and returns the lines that it then prints.
func (a *agent) finish() (printed []string) {
	a.t.Helper()
	_, err := io.WriteString(a.in, <-a.redirects+"\n")
	require.NoError(a.t, err)
	for a.lines.Scan() {
		printed = append(printed, a.lines.Text())
	}
	require.NoError(a.t, a.cmd.Wait(), a.said)
	require.Len(a.t, printed, 7, printed)
	return printed
}

// TestAuthorizeAnAgentWithABrowser connects the TypeScript SDK to the real service. The operator signs in with a one-time
// link and allows the program on the consent page, in Chromium. The agent gets its answer, and the operator finds and
// revokes it.
func TestAuthorizeAnAgentWithABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	s := ownService(t)
	a := startAgent(t, s)
	b := visit(t, a.authorize, "")
	b.await(`location.pathname === "/signin" && document.readyState === "complete"`)
	back := b.eval(`new URLSearchParams(location.search).get("return_to")`).(string)
	require.True(t, strings.HasPrefix(back, "/authorize?"), back)
	b.call("Page.navigate", map[string]any{"url": s.oneTimeLink(t) + "&return_to=" + url.QueryEscape(back)})
	b.await(`!!document.querySelector("button.main")`)
	b.click("button.main")
	b.await(`location.pathname === "/authorize" && document.readyState === "complete"`)
	b.picture("consent")
	require.Contains(t, b.eval(`document.body.innerText`), a.host)
	require.Contains(t, b.eval(`document.body.innerText`), "unverified")
	b.click(`input[name="mode"][value="test"]`)
	b.click(`button[value="allow"]`)
	b.await(`document.title === "connected"`)
	printed := a.finish()
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
