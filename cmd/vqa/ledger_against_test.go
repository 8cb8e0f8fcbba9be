package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestVerifyAgainstAnOlderCheckpoint keeps a checkpoint, and then changes the past as the owner of the database.
func TestVerifyAgainstAnOlderCheckpoint(t *testing.T) {
	b := newToolbench(t)
	b.text("ledger", "checkpoint")
	names, err := filepath.Glob(filepath.Join(b.config.objectsDir(), "ledger", "checkpoints", "0001", "*"))
	require.NoError(t, err)
	require.Len(t, names, 1)
	signed, err := os.ReadFile(names[0])
	require.NoError(t, err)
	kept := filepath.Join(t.TempDir(), "checkpoint")
	require.NoError(t, os.WriteFile(kept, signed, 0o600))
	b.text("credits", "purchase", b.key.AccountID, "5", "--reason", "test", "--idempotency-key", "k1")
	b.text("ledger", "checkpoint")
	require.Contains(t, b.text("ledger", "verify", "--against", kept), "correct: the database contains all")

	forged := filepath.Join(t.TempDir(), "forged")
	require.NoError(t, os.WriteFile(forged, append([]byte("x"), signed...), 0o600))
	out, _, err := b.run("ledger", "verify", "--against", forged)
	require.Error(t, err)
	require.Contains(t, out, "no log with the origin")

	owner, err := pgx.Connect(t.Context(), b.config.DatabaseURL)
	require.NoError(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	_, err = owner.Exec(t.Context(), "alter table events disable trigger events_append_only")
	require.NoError(t, err)
	var position int64
	require.NoError(t, owner.QueryRow(t.Context(), `update events set chain = sha256(chain)
		where stream = $1 and version = 1 returning position`, "credit/"+b.key.AccountID).Scan(&position))
	out, _, err = b.run("ledger", "verify", "--against", kept)
	require.Error(t, err)
	require.Contains(t, out, "WRONG")
	require.Contains(t, out, "is the first that differs")
	require.Contains(t, out, fmt.Sprintf("osition %d", position))

	_, err = owner.Exec(t.Context(), "delete from events where position >= $1", position)
	require.NoError(t, err)
	out, _, err = b.run("ledger", "verify", "--against", kept)
	require.Error(t, err)
	require.Contains(t, out, "the past is longer")
	require.Contains(t, out, fmt.Sprintf("osition %d", position))
}
