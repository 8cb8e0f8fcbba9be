package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestTailSurvivesALostDatabase ends every database connection of a waiting tail.
func TestTailSurvivesALostDatabase(t *testing.T) {
	b := newToolbench(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out buffer
	root := rootCommand()
	root.SetArgs([]string{"events", "tail", "--type", "credit.*"})
	root.SetOut(&out)
	root.SetErr(&buffer{})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	printed := func(n int) func() bool {
		return func() bool { return strings.Count(out.String(), "credit.granted") == n }
	}
	require.Eventually(t, printed(1), time.Minute, 5*time.Millisecond)

	conn, err := pgx.Connect(t.Context(), b.config.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var cut int
	require.Eventually(t, func() bool { // the command listens after it has caught up
		err := conn.QueryRow(t.Context(), `select count(*) filter (where pg_terminate_backend(pid, 5000)) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()
			  and exists (select from pg_stat_activity where datname = current_database() and query = 'listen vqa_log')`).Scan(&cut)
		return err == nil && cut > 1
	}, time.Minute, 5*time.Millisecond)

	b.text("credits", "purchase", b.key.AccountID, "5", "--reason", "later", "--idempotency-key", "later")
	require.Eventually(t, printed(2), time.Minute, 5*time.Millisecond)
	interrupt()
	require.NoError(t, <-ended)
}
