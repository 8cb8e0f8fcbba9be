package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/embedded"
	"vqa/eventstore/postgres"
	"vqa/migrations"
)

// failed returns the names of the checks in an error, and fails the test when it has another one.
func failed(t *testing.T, err error) []string {
	t.Helper()
	var names []string
	var walk func(error)
	walk = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				walk(e)
			}
			return
		}
		var unsafe *postgres.UnsafeError
		require.ErrorAs(t, err, &unsafe)
		require.NotEmpty(t, unsafe.Remedy)
		require.Contains(t, err.Error(), unsafe.Remedy)
		names = append(names, unsafe.Check)
	}
	if err != nil {
		walk(err)
	}
	return names
}

// TestCheckLog changes a database as an administrator or a restore could, and repairs it with the
// remedies of the findings.
func TestCheckLog(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change string
		want   []string
	}{
		"migrated":              {"select 1", nil},
		"sequence with a cache": {"alter sequence events_position_seq cache 20", []string{"sequence"}},
		"disabled fence":        {"alter table events disable trigger events_fence", []string{"triggers"}},
		"fence of a restore":    {"alter table events enable trigger user", []string{"triggers"}},
		"missing fence":         {"drop trigger events_append_only on events", []string{"triggers"}},
		"position granted":      {"grant insert on events to vqa_service", []string{"rights"}},
		"setval granted":        {"grant all on sequence events_position_seq to vqa_service", []string{"rights"}},
		"delete granted":        {"grant delete on events to vqa_service", []string{"rights"}},
		"row-level security":    {"alter table events enable row level security", []string{"tables"}},
		"a policy":              {"create policy seen on streams using (current_query() like '%x%')", []string{"tables"}},
		"a rule":                {"create rule seen as on delete to streams do instead nothing", []string{"tables"}},
		"several": {
			"alter sequence events_position_seq cache 2; grant update on events to vqa_service", []string{"sequence", "rights"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := connect(t)
			owner, err := pgx.Connect(t.Context(), url)
			require.NoError(t, err)
			defer func() { _ = owner.Close(context.Background()) }()
			_, err = owner.Exec(t.Context(), test.change)
			require.NoError(t, err)
			got := postgres.Check(t.Context(), url)
			require.Equal(t, test.want, failed(t, got))
			var unsafe *postgres.UnsafeError
			if strings.HasPrefix(test.change, "drop") || len(test.want) != 1 || !errors.As(got, &unsafe) {
				return // a dropped trigger cannot be enabled
			}
			_, err = owner.Exec(t.Context(), unsafe.Remedy)
			require.NoError(t, err)
			require.NoError(t, postgres.Check(t.Context(), url), "the remedy repairs it")
			pool, err := postgres.Connect(t.Context(), url)
			require.NoError(t, err)
			defer pool.Close()
			_, err = pool.Exec(t.Context(), insertSQL, "test/a", 1)
			require.NoError(t, err, "the service can append after the remedy")
		})
	}
}

// TestCheckTablesUnderAnotherName puts views and tables in front of those that the checks read.
func TestCheckTablesUnderAnotherName(t *testing.T) {
	t.Parallel()
	_, url := connect(t)
	owner, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = owner.Close(context.Background()) }()
	_, err = owner.Exec(t.Context(), `create schema shadow; grant usage on schema shadow to public;
		create view shadow.events as select * from public.events where not (current_query() like '%snapshot_mac%' and version > 1);
		create view shadow.pg_class as select oid, relname, 'r'::"char" as relkind, 'p'::"char" as relpersistence, false as relrowsecurity from pg_catalog.pg_class;
		create view shadow.pg_rewrite as select * from pg_catalog.pg_rewrite where false;
		grant select on all tables in schema shadow to public;
		do $$ begin execute format('alter database %I set search_path = shadow, pg_catalog, public', current_database()); end $$`)
	require.NoError(t, err)
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	var seen string
	require.NoError(t, pool.QueryRow(t.Context(), "select relkind::text from pg_class where oid = 'events'::regclass").Scan(&seen))
	require.Equal(t, "r", seen, "without the name of its schema, the catalog says that the view is a table")
	require.ErrorContains(t, postgres.CheckTables(t.Context(), pool), `the search path has the schema "shadow" before pg_catalog`)

	_, err = owner.Exec(t.Context(), `do $$ begin execute format('alter database %I set search_path = shadow, public', current_database()); end $$`)
	require.NoError(t, err)
	pool.Reset()
	require.ErrorContains(t, postgres.CheckTables(t.Context(), pool), "the table events is not a table")

	_, err = owner.Exec(t.Context(), "create temp table events as select * from public.events")
	require.NoError(t, err)
	require.ErrorContains(t, postgres.CheckTables(t.Context(), owner), "the table events is not a permanent table")
}

func TestCheckServer(t *testing.T) {
	t.Parallel()
	empty := newEmpty(t)
	require.NoError(t, postgres.CheckServer(t.Context(), empty), "it needs no schema")
	require.Equal(t, []string{postgres.SchemaCheck}, failed(t, postgres.Check(t.Context(), empty)))

	with := func(parameters string) string {
		separator := "?"
		if strings.Contains(empty, "?") {
			separator = "&"
		}
		return empty + separator + parameters
	}
	require.Equal(t, []string{"timeouts"}, failed(t, postgres.CheckServer(t.Context(), with("statement_timeout=0"))))
	require.Equal(t, []string{"timeouts"}, failed(t, postgres.CheckServer(t.Context(), with("idle_in_transaction_session_timeout=0"))))

	err := postgres.CheckServer(t.Context(), "postgres://u:secret@127.0.0.1:1/d?connect_timeout=2")
	require.Error(t, err)
	var unsafe *postgres.UnsafeError
	require.False(t, errors.As(err, &unsafe), "a server that does not answer is no finding")
	require.NotContains(t, err.Error(), "secret")
}

// TestCheckServerBehindAPooler connects through a pooler, with the parameters that it passes on.
func TestCheckServerBehindAPooler(t *testing.T) {
	t.Parallel()
	passed := map[string]string{
		"statement_timeout": "30s", "idle_in_transaction_session_timeout": "15s", "default_transaction_isolation": "read committed",
	}
	tests := map[string]struct {
		pooler *pooler
		want   []string
	}{
		"sessions":                     {&pooler{parameters: passed}, nil},
		"transactions":                 {&pooler{parameters: passed, transactions: true}, []string{"sessions"}},
		"sessions, without parameters": {&pooler{parameters: map[string]string{"default_transaction_isolation": "serializable"}}, []string{"isolation", "timeouts"}},
		"refused parameters":           {&pooler{ignores: []string{}}, []string{"pooler"}},
		"as documented":                {&pooler{parameters: passed, ignores: documentedIgnores(t)}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, failed(t, postgres.CheckServer(t.Context(), test.pooler.start(t, newEmpty(t)))))
		})
	}
}

// documentedIgnores returns the parameters that docs/operations.md tells a pooler to ignore.
func documentedIgnores(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^ignore_startup_parameters = (.+)$`).FindSubmatch(text)
	require.NotNil(t, found)
	return strings.Split(string(found[1]), ", ")
}

// ownServer starts a Postgres that a test may restart. folder has its data.
func ownServer(t *testing.T) (start func() *embedded.Server, folder func() string) {
	t.Helper()
	parent, err := os.MkdirTemp("", "vqa-own-") //nolint:usetesting // t.TempDir is in a folder of mode 0700
	require.NoError(t, err)
	require.NoError(t, os.Chmod(parent, 0o755))
	dir := filepath.Join(parent, "postgres")
	folder = func() string {
		if moved, err := os.ReadFile(filepath.Join(dir, "location")); err == nil {
			return strings.TrimSpace(string(moved))
		}
		return filepath.Join(dir, "cluster")
	}
	t.Cleanup(func() {
		require.NoError(t, os.RemoveAll(folder()))
		require.NoError(t, os.RemoveAll(parent))
	})
	return func() *embedded.Server {
		server, err := embedded.Start(t.Context(), embedded.Options{
			Dir: dir, BinDir: os.Getenv("VQA_POSTGRES_BIN"), Settings: map[string]string{"fsync": "off", "max_prepared_transactions": "2"},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
		return server
	}, folder
}

// TestAnotherServer needs a server of its own: it has prepared transactions, and becomes a standby.
func TestAnotherServer(t *testing.T) {
	t.Parallel()
	start, folder := ownServer(t)
	server := start()
	url := server.URL("postgres")
	require.NoError(t, migrations.Up(t.Context(), url))
	require.NoError(t, postgres.Check(t.Context(), url))
	preparedWriterIsReported(t, url)
	require.NoError(t, server.Close(t.Context()))

	require.NoError(t, os.WriteFile(filepath.Join(folder(), "data", "standby.signal"), nil, 0o644))
	url = start().URL("postgres")
	require.Equal(t, []string{"primary"}, failed(t, postgres.CheckServer(t.Context(), url)))
}
