package main_test

import (
	"bytes"
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
		t.Skip("make test-setup could not install the SDKs of agents")
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
	requireShown(t, conversation(t, "permission.js", s.oneTimeLink(t)))
}
