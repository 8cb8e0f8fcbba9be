package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
)

// TestAnAuditorOnlyReads verifies as a login that is a member of vqa_auditor and nothing else, and without
// the key of the installation.
func TestAnAuditorOnlyReads(t *testing.T) {
	b := newToolbench(t)
	b.text("ledger", "checkpoint")
	owner, err := pgx.Connect(t.Context(), b.config.DatabaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	u := mustParse(t, b.config.DatabaseURL)
	login := "auditor_" + strings.ToLower(filepath.Base(u.Path))[max(0, len(filepath.Base(u.Path))-20):]
	_, err = owner.Exec(t.Context(), fmt.Sprintf("create role %s login password 'only reads' in role vqa_auditor", pgx.Identifier{login}.Sanitize()))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := owner.Exec(context.Background(), "drop role "+pgx.Identifier{login}.Sanitize())
		require.NoError(t, err)
	})
	as := *u
	as.User = nil
	t.Setenv("VQA_DATABASE_URL", strings.Replace(as.String(), "://", "://"+login+":only%20reads@", 1))

	out := b.text("ledger", "verify", "--all-streams")
	require.Contains(t, out, "no mismatch")
	require.Contains(t, out, "MACs: checked")
	t.Setenv("VQA_DATA_DIR", t.TempDir())
	out, _, err = b.run("ledger", "verify")
	require.ErrorIs(t, err, exitUncompared, "this auditor cannot read the checkpoints: %s", out)
	require.Contains(t, out, "DID NOT COMPARE the database with the checkpoints outside it: there is no transparency log")
	require.NotContains(t, out, "no mismatch")
	t.Setenv("VQA_BLOB_URL", "file://"+b.config.objectsDir())
	out = b.text("ledger", "verify")
	require.Contains(t, out, "not checked, because this program has no key")
	require.Contains(t, out, "no mismatch")
	left, err := os.ReadDir(os.Getenv("VQA_DATA_DIR"))
	require.NoError(t, err)
	require.Empty(t, left, "an audit makes no key")

	c := b.config
	c.DatabaseURL = os.Getenv("VQA_DATABASE_URL")
	reader, err := openReader(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for _, sql := range []string{
		"update streams set version = version + 1", "delete from api_keys", "create table mine (n int)",
		"set default_transaction_read_only = off; update credit_balances set held_seconds = 0",
		"insert into events (stream, version, type, account_id, data, meta, chain) values ('a/b', 1, 'x', '', '{}', '{}', sha256(''))",
	} {
		_, err := reader.pool.Exec(t.Context(), sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Contains(t, []string{"42501", "25006"}, refused.Code, "%s: %s", sql, refused.Message)
	}
	require.NoError(t, reader.Close())
}

// TestVerificationMigratesNothing: a database of another release stays as it is.
func TestVerificationMigratesNothing(t *testing.T) {
	b := newToolbench(t)
	url := storetest.Database(t, func(context.Context, string) error { return nil }, "empty")
	t.Setenv("VQA_DATABASE_URL", url)
	_, _, err := b.run("ledger", "verify")
	require.ErrorContains(t, err, "run vqa migrate")
	db, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	var tables int
	require.NoError(t, db.QueryRow(t.Context(), "select count(*) from pg_tables where schemaname = 'public'").Scan(&tables))
	require.Zero(t, tables)
}
