package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections"
)

// rebuildKills is the number of times that the process of a rebuild is killed.
const rebuildKills = 5

// TestProjectionsCommands runs the real program on its own database.
func TestProjectionsCommands(t *testing.T) {
	t.Parallel()
	path, err := binary()
	require.NoError(t, err)
	url := storetest.Database(t, migrations.Up, migrations.Version())
	env := append(os.Environ(), "VQA_DATABASE_URL="+url, "VQA_DATA_DIR="+t.TempDir(), "VQA_LOG_LEVEL=error")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Env = env
		return cmd
	}
	vqa := func(status int, args ...string) string {
		t.Helper()
		out, err := command(args...).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			require.Equal(t, status, exit.ExitCode(), "%v: %s%s", args, out, exit.Stderr)
		} else {
			require.NoError(t, err)
			require.Zero(t, status, "%v: %s", args, out)
		}
		return string(out)
	}
	var key struct {
		AccountID string `json:"account_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(vqa(0, "keys", "create", "--mode", "live", "--grant-seconds", "100", "--json")), &key))

	// A rebuild that is killed at any moment leaves a state from which the next one continues.
	killed := 0
	for n := range rebuildKills {
		cmd := command("projections", "rebuild", "--all")
		require.NoError(t, cmd.Start())
		time.Sleep(rand.N(time.Duration(n+1) * 30 * time.Millisecond)) // a random moment of the rebuild
		_ = cmd.Process.Kill()                                         // the process may have ended
		if cmd.Wait() != nil {
			killed++
		}
	}
	require.Positive(t, killed)
	require.Contains(t, vqa(0, "projections", "rebuild", "--all"), "equal, swapped")

	damage(t, url, key.AccountID)
	require.Contains(t, vqa(1, "projections", "verify", "--all"), "credit_balances "+key.AccountID+": grants_seconds 99 (log: 100), posted_seconds 99 (log: 100)")
	require.Contains(t, vqa(1, "projections", "rebuild", "credit_balances"), "DIFFERS, nothing was changed")
	var c projections.Certificate
	require.NoError(t, json.Unmarshal([]byte(vqa(0, "projections", "rebuild", "credit_balances", "--accept", "--json")), &c))
	require.True(t, c.Swapped && c.Accepted && !c.Equal, "%+v", c)
	require.Contains(t, vqa(0, "projections", "verify", "credit_balances"), "equal")
	require.Contains(t, vqa(0, "projections", "list"), "credit_balances")
	var list struct {
		Projections []projections.Listed `json:"projections"`
	}
	require.NoError(t, json.Unmarshal([]byte(vqa(0, "projections", "list", "--json")), &list))
	require.NotEmpty(t, list.Projections)
	for _, p := range list.Projections {
		require.True(t, p.Current && p.Certificate != nil, "%+v", p)
	}
	vqa(2, "projections", "rebuild")
	vqa(2, "projections", "verify", "videos", "--all")
}

// damage changes a balance directly in the database.
func damage(t *testing.T, url, accountID string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	tag, err := conn.Exec(t.Context(), "update credit_balances set posted_seconds = 99, grants_seconds = 99 where id = $1", accountID)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
}
