package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clientTimeout bounds a client: it asks the real engine a few times.
const clientTimeout = 3 * time.Minute

// TestNewUser uses a fresh service like a new user who has only the documents: the TypeScript client,
// the listings of the quickstart, and the tour. They share the service. They need more sandboxes and
// upgrades than the limits per address, which do not apply to programs on this machine.
func TestNewUser(t *testing.T) {
	t.Parallel()
	s := ownService(t, "VQA_ARTIFACTS=false")
	client := typeScript(t)
	t.Run("TypeScriptClient", func(t *testing.T) { s.typeScriptClient(t, client) })
	t.Run("Quickstart", s.quickstart)
	t.Run("Tour", s.tour)
}

// typeScriptClient runs the main test of the generated client in a folder.
func (s *service) typeScriptClient(t *testing.T, folder string) {
	s.program(t, folder, []string{
		"VQA_API_KEY=" + s.newKey(t, "--grant-seconds", "100").APIKey, "VQA_CLIP=" + clip(t, briefClip),
	}, "node", "--test", "dist/test/main-flow.test.js")
}

// typeScript compiles the generated client with the strictest options and returns its folder.
func typeScript(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(root, "handlers/httpapi/clients/typescript"))
	require.NoError(t, err)
	runProgram(t, folder, nil, "npm", "run", "--silent", "build")
	return folder
}

// program runs a client of the service in a folder, with VQA_BASE_URL and other variables, and
// returns its output.
func (s *service) program(t *testing.T, folder string, settings []string, name string, args ...string) string {
	t.Helper()
	return runProgram(t, folder, append(settings, "VQA_BASE_URL=http://"+s.addr), name, args...)
}

// runProgram runs a program, which must succeed, and returns its output.
func runProgram(t *testing.T, folder string, settings []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), settings...)
	cmd.WaitDelay = time.Second // child processes may keep the output open
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s:\n%s", name, strings.Join(args, " "), out)
	return string(out)
}
