package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLedgerKeysOnTheCommandLine rotates, revokes and restarts like an operator.
func TestLedgerKeysOnTheCommandLine(t *testing.T) {
	b := newToolbench(t)
	type checkpoint struct {
		KeyID  string `json:"key_id"`
		Origin string `json:"origin"`
		Size   int64  `json:"size"`
	}
	var first, second, third checkpoint
	b.json(&first, "ledger", "checkpoint", "--json")
	require.Positive(t, first.Size)
	var statements []shownStatement
	b.json(&statements, "ledger", "keys", "list", "--json")
	require.Len(t, statements, 1)
	require.Equal(t, []string{"pin", first.KeyID}, []string{statements[0].Action, statements[0].KeyID})
	before, err := os.ReadFile(filepath.Join(b.config.DataDir, ledgerKeyFile))
	require.NoError(t, err)

	for _, act := range [][]string{{"keys", "rotate"}, {"keys", "replace"}, {"keys", "revoke"}, {"restart"}} {
		_, _, err = b.run(append([]string{"ledger"}, act...)...)
		require.ErrorIs(t, err, exitUsage, "%v: a reason is required", act)
	}
	b.json(&statements, "ledger", "keys", "rotate", "--reason", "yearly", "--json")
	require.Equal(t, "rotate", statements[0].Action)
	kept, err := os.ReadFile(filepath.Join(b.config.DataDir, ledgerKeyFile+"."+first.KeyID))
	require.NoError(t, err)
	require.Equal(t, before, kept, "the old key stays")
	b.json(&second, "ledger", "checkpoint", "--json")
	require.Equal(t, first, second, "without new events, the checkpoint by the old key stands")
	b.text("credits", "purchase", b.key.AccountID, "5", "--reason", "test", "--idempotency-key", "k1")
	b.json(&second, "ledger", "checkpoint", "--json")
	require.NotEqual(t, first.KeyID, second.KeyID)
	require.Greater(t, second.Size, first.Size)

	b.json(&statements, "ledger", "keys", "list", "--json")
	b.text("ledger", "keys", "revoke", "--key", statements[0].PublicKey, "--beyond", "1", "--reason", "leaked")
	bundle := filepath.Join(t.TempDir(), "bundle")
	b.text("ledger", "restart", "--reason", "a restored data folder")
	_, _, err = b.run("ledger", "bundle", b.key.AccountID, "-o", bundle)
	require.EqualError(t, err, "log 2 has begun, but no checkpoint is signed yet in it. "+
		"The sealer of a running service signs one within a minute, and vqa ledger checkpoint signs one now")
	require.NoFileExists(t, filepath.Join(bundle, "manifest.json"))
	b.json(&third, "ledger", "checkpoint", "--json")
	require.Equal(t, first.Origin+"/2", third.Origin)
	b.text("ledger", "bundle", b.key.AccountID, "-o", bundle)

	names, err := filepath.Glob(filepath.Join(b.config.objectsDir(), "ledger", "checkpoints", "0002", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	compared := b.text("ledger", "verify", "--against", names[0])
	require.Contains(t, compared, "correct: ")
	require.Contains(t, compared, "reason: leaked")
	require.Contains(t, compared, "restart of the transparency log")

	// Verification shows the acts always.
	shown := b.text("ledger", "verify")
	require.Contains(t, shown, "revoke of the transparency log")
	require.Contains(t, shown, "reason: leaked")
	require.Contains(t, shown, "restart of the transparency log")
	require.Contains(t, shown, "reason: a restored data folder")
	var report struct {
		Sound        bool         `json:"sound"`
		Transparency transparency `json:"transparency_log"`
	}
	b.json(&report, "ledger", "verify", "--json")
	require.True(t, report.Sound)
	require.Equal(t, third.Origin, report.Transparency.Origin)
	require.Len(t, report.Transparency.Acts, 2)
	t.Setenv("VQA_LEDGER_KEYS", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	shown, _, err = b.run("ledger", "verify")
	require.Error(t, err, "another key is pinned")
	require.Contains(t, shown, "is not pinned")
}
