package main_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAPastThatIsGone puts the database of a stopped service back to an earlier state, file by file. The commands of an
// auditor name it before the service starts and while it runs, and they say so when they could not compare.
func TestAPastThatIsGone(t *testing.T) {
	t.Parallel()
	s := ownService(t)
	account := s.account(t, 100).key.AccountID
	buy := func(key string) {
		t.Helper()
		s.tool(t, "credits", "purchase", account, "5", "--reason", "invoice", "--idempotency-key", key)
		s.tool(t, "ledger", "checkpoint")
	}
	buy("k1")
	require.NoError(t, s.terminate())
	cluster := filepath.Join(s.dir, "postgres")
	if moved, err := os.ReadFile(filepath.Join(cluster, "location")); err == nil {
		cluster = strings.TrimSpace(string(moved))
	}
	yesterday := cluster + "-yesterday"
	t.Cleanup(func() { _ = os.RemoveAll(yesterday) })
	out, err := exec.CommandContext(t.Context(), "cp", "-a", cluster, yesterday).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, s.start())
	buy("k2")
	require.Contains(t, string(s.tool(t, "ledger", "verify")), "no mismatch")
	require.NoError(t, s.terminate())
	require.NoError(t, os.RemoveAll(cluster))
	require.NoError(t, os.Rename(yesterday, cluster))

	verify := [][]string{{"ledger", "verify"}, {"ledger", "verify", account}, {"ledger", "verify", "--all-streams"}}
	named := func(commands [][]string, status int, text string) {
		t.Helper()
		for _, args := range commands {
			out, err := s.output(t, args...)
			var ended *exec.ExitError
			require.True(t, errors.As(err, &ended), "%v: %s", args, out)
			require.Equal(t, status, ended.ExitCode(), "%v: %s", args, out)
			require.Contains(t, out, text)
			require.NotContains(t, out, "no mismatch")
		}
	}
	gone := "the past is longer: the database gives "
	named(append(verify, []string{"doctor"}), 1, gone)
	require.NoError(t, s.start())
	var ready answer
	require.True(t, poll(5*time.Second, func() bool { // the alarms about subscribers are checked every 10 s
		ready = (&apiClient{service: s}).call(t, http.MethodGet, "/readyz", nil)
		return ready.text("alarms.0") == "ledger_finding"
	}), "%s", ready.raw)
	named(append(verify, []string{"doctor"}), 1, gone)
	doctor, err := s.output(t, "doctor")
	require.Error(t, err)
	require.Contains(t, doctor, "the service has raised ledger_finding")

	// Without the checkpoints, nothing is compared.
	anchors := filepath.Join(s.dir, "objects", "ledger")
	require.NoError(t, os.Rename(anchors, anchors+"-away"))
	named(verify, 3, "DID NOT COMPARE the database with the checkpoints outside it: there is no transparency log")
	require.NoError(t, os.WriteFile(anchors, nil, 0o600))
	named(verify, 3, "DID NOT COMPARE the database with the checkpoints outside it: anchor: list keys")
	require.NoError(t, os.Remove(anchors))
	require.NoError(t, os.Rename(anchors+"-away", anchors))
	named(verify, 1, gone)
}
