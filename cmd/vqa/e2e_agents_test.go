package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAgentTranscript holds the conversation of docs/agents.md with the real service.
func TestAgentTranscript(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs(filepath.Join(root, "handlers/mcp/clients/transcript.js"))
	require.NoError(t, err)
	printed := runProgram(t, t.TempDir(), nil, "node", script, "http://"+ownService(t).addr) // the sandboxes of the shared one are limited
	text, err := os.ReadFile(filepath.Join(root, "docs/agents.md"))
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(text), "```text\n# connected")
	shown, _, _ = strings.Cut(shown, "```")
	require.Equal(t, "# connected"+shown, printed)
}
