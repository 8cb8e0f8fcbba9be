package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// TestIncidents runs the subcommands on a real database, and reads the incidents like the service. It
// is not parallel because the commands read the environment.
func TestIncidents(t *testing.T) {
	c := toolConfig(t)
	t.Setenv("VQA_DATABASE_URL", c.DatabaseURL)
	t.Setenv("VQA_DATA_DIR", c.DataDir)
	vqa := func(args ...string) (string, error) {
		t.Helper()
		var out, complaint bytes.Buffer
		root := rootCommand()
		root.SetArgs(append([]string{"incidents"}, args...))
		root.SetOut(&out)
		root.SetErr(&complaint)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	read := func(into any, args ...string) {
		t.Helper()
		out, err := vqa(append(args, "--json")...)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(out), into), out)
	}
	var list []shownIncident
	read(&list, "list")
	require.Empty(t, list)
	require.NotNil(t, list, "an empty list is not null")

	var first, second, closed shownIncident
	read(&first, "open", "The engine is down")
	read(&second, "open", "The disk is full")
	require.Regexp(t, "^inc_", first.ID)
	require.True(t, first.Open)
	require.WithinDuration(t, time.Now(), first.OpenedAt, time.Minute)
	a, err := openApp(t.Context(), c, slog.New(slog.DiscardHandler), adapters{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	blamed, err := a.resources.OpenIncident(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.ID, blamed, "the incident that was opened first")

	read(&closed, "close", first.ID)
	require.False(t, closed.Open)
	require.NotNil(t, closed.ClosedAt)
	var again shownIncident
	read(&again, "close", first.ID)
	require.Equal(t, closed, again)
	blamed, err = a.resources.OpenIncident(t.Context())
	require.NoError(t, err)
	require.Equal(t, second.ID, blamed)
	read(&list, "list")
	require.Equal(t, []shownIncident{second, closed}, list, "newest first")
	read(&list, "list", "--open")
	require.Equal(t, []shownIncident{second}, list)
	table, err := vqa("list")
	require.NoError(t, err)
	require.Contains(t, table, "The disk is full")
	require.Contains(t, table, first.ID)

	_, err = vqa("close", "inc_none")
	require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	_, err = vqa("open", "")
	require.True(t, fault.Has(err, fault.ValidationFailed), "%v", err)
	_, err = vqa("open")
	require.ErrorIs(t, err, exitUsage)

	read(&closed, "close", second.ID)
	blamed, err = a.resources.OpenIncident(t.Context())
	require.NoError(t, err)
	require.Empty(t, blamed)
}
