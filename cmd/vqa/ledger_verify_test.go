package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/projections/ledger/audit"
)

// TestLedgerVerify is not parallel because the commands read the environment.
func TestLedgerVerify(t *testing.T) {
	c := toolConfig(t)
	t.Setenv("VQA_DATABASE_URL", c.DatabaseURL)
	t.Setenv("VQA_DATA_DIR", c.DataDir)
	t.Setenv("VQA_LOG_LEVEL", "error")
	vqa := func(ctx context.Context, args ...string) (string, error) {
		t.Helper()
		var out, complaint bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&complaint)
		err := root.ExecuteContext(ctx)
		return out.String(), err
	}
	var key issuedKey
	out, err := vqa(t.Context(), "keys", "create", "--mode", "live", "--grant-seconds", "6000", "--json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &key))
	_, err = vqa(t.Context(), "ledger", "checkpoint")
	require.NoError(t, err)

	out, err = vqa(t.Context(), "ledger", "verify", "--all-streams")
	require.NoError(t, err)
	require.Contains(t, out, "1 entries of 1 ledgers, ")
	require.Contains(t, out, "no mismatch")

	_, err = vqa(t.Context(), "ledger", "verify", key.AccountID, "acct_nobody")
	var nobody *audit.NoLedgerError
	require.ErrorAs(t, err, &nobody)
	require.Equal(t, "acct_nobody", nobody.AccountID)

	conn, err := pgx.Connect(t.Context(), c.DatabaseURL)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), `alter table events disable trigger user;
		update events set data = replace(data::text, '6000', '6001')::json where type = 'credit.granted';
		alter table events enable trigger user`)
	require.NoError(t, err)

	out, err = vqa(t.Context(), "ledger", "verify", key.AccountID)
	require.ErrorIs(t, err, exitError(1))
	require.Contains(t, out, "mismatches: 1 forged")
	require.Contains(t, out, key.AccountID)

	out, err = vqa(t.Context(), "ledger", "verify", "--json")
	require.ErrorIs(t, err, exitError(1))
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &fields))
	for name := range fields {
		require.True(t, strings.Contains(ledgerVerifyHelp, name), "the help does not say what %s is", name)
	}
	var report struct {
		Sound bool
		audit.Report
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.False(t, report.Sound)
	require.Len(t, report.Mismatches, 1)
	found := report.Mismatches[0]
	require.Positive(t, found.Position)
	want := audit.Mismatch{
		AccountID: key.AccountID, Kind: audit.Forged, Stream: "credit/" + key.AccountID, Version: 1,
		Position: found.Position, Detail: found.Detail,
	}
	require.Empty(t, cmp.Diff(want, found))

	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err = vqa(interrupted, "ledger", "verify")
	require.ErrorIs(t, err, context.Canceled)
}
