package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/eventstore/postgres"
)

// TestTheServerRefusesAnUnsafeLog changes the log of a real database. The server refuses it, the tools
// accept it, and the doctor names the fault and the remedy.
func TestTheServerRefusesAnUnsafeLog(t *testing.T) {
	t.Parallel()
	c := toolConfig(t)
	serving := func() error {
		a, err := openApp(t.Context(), c, slog.New(slog.DiscardHandler), adapters{serving: true})
		if err == nil {
			require.NoError(t, a.Close())
		}
		return err
	}
	require.NoError(t, serving())
	inspected := func() []doctor.Finding {
		found, err := inspectLog(t.Context(), c.DatabaseURL)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, inspected())

	owner, err := pgx.Connect(t.Context(), c.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = owner.Close(context.Background()) }()
	_, err = owner.Exec(t.Context(), "alter sequence events_position_seq cache 20; alter table events disable trigger events_fence")
	require.NoError(t, err)
	err = serving()
	var unsafe *postgres.UnsafeError
	require.ErrorAs(t, err, &unsafe)
	require.Equal(t, "sequence", unsafe.Check)
	require.ErrorContains(t, err, `the check "triggers"`)
	a, err := openApp(t.Context(), c, slog.New(slog.DiscardHandler), adapters{})
	require.NoError(t, err, "a tool can examine it")
	require.NoError(t, a.Close())

	found := inspected()
	require.Len(t, found, 2)
	for i, check := range []string{"sequence", "triggers"} {
		require.Equal(t, doctor.Broken, found[i].Verdict)
		require.True(t, strings.HasPrefix(found[i].Detail, check+": "), found[i].Detail)
		_, err := owner.Exec(t.Context(), found[i].Fix)
		require.NoError(t, err)
	}
	require.NoError(t, serving(), "repaired")

	_, err = owner.Exec(t.Context(), `begin; insert into events (stream, version, type, account_id, data, meta, chain)
		values ('test/open', 1, 'x', '', '{}', '{}', sha256(''))`)
	require.NoError(t, err)
	found = inspected()
	require.Len(t, found, 1)
	require.Equal(t, doctor.Broken, found[0].Verdict)
	require.Contains(t, found[0].Detail, "idle in transaction")
	require.Contains(t, found[0].Fix, "select pg_terminate_backend(")
}
