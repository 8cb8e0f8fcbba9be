package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// conversation runs a script of the kit and returns the text that it prints.
func conversation(t *testing.T, script string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
	cmd.Dir = filepath.Join(root, "handlers/mcp/clients")
	if _, err := os.Stat(filepath.Join(cmd.Dir, "node_modules")); err != nil {
		t.Skip("make setup could not install the SDKs of agents")
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint // the SDK also warns there
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, &complaint)
	return string(out)
}

// requireShown compares a conversation with the listing of docs/agents.md that begins with the same line.
func requireShown(t *testing.T, printed string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/agents.md"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(printed, "\n")
	_, shown, found := strings.Cut(string(text), "```text\n"+first)
	require.True(t, found, "docs/agents.md has no listing that begins with %q", first)
	shown, _, _ = strings.Cut(shown, "```")
	require.Equal(t, first+shown, printed)
}

// TestAgentTranscript holds the conversation of docs/agents.md with the real service.
func TestAgentTranscript(t *testing.T) {
	t.Parallel()
	requireShown(t, conversation(t, "transcript.js", "http://"+ownService(t).addr)) // the sandboxes of the shared one are limited
}

// TestPermissionTranscript holds the conversation of an agent that a person allows with the real service.
func TestPermissionTranscript(t *testing.T) {
	t.Parallel()
	s := ownService(t)
	s.tool(t, "credits", "grant", s.operatorAccount(t), "6000", "--reason", "questions of an agent", "--idempotency-key", "agent")
	requireShown(t, conversation(t, "permission.js", s.oneTimeLink(t)))
}

// operatorAccount signs in as the operator and returns the account.
func (s *service) operatorAccount(t *testing.T) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	post := func(path string, form url.Values) (status int, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.addr+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+s.addr)
		got, err := browser.Do(r)
		require.NoError(t, err)
		defer func() { _ = got.Body.Close() }()
		body, err = io.ReadAll(got.Body)
		require.NoError(t, err)
		return got.StatusCode, body
	}
	link, err := url.Parse(s.oneTimeLink(t))
	require.NoError(t, err)
	status, _ := post("/signin/link", url.Values{"link": {link.Query().Get("link")}})
	require.Equal(t, http.StatusSeeOther, status)
	var session struct {
		AccountID string `json:"account_id"`
	}
	_, token := post("/session/token", nil)
	require.NoError(t, json.Unmarshal(token, &session), "%s", token)
	require.NotEmpty(t, session.AccountID)
	return session.AccountID
}
