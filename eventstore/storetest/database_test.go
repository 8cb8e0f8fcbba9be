package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func exec(ctx context.Context, url, sql string) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

func TestDatabaseIsMigratedOnceAndEmptyForEachTest(t *testing.T) {
	t.Parallel()
	var migrations atomic.Int32
	migrate := func(ctx context.Context, url string) error {
		migrations.Add(1)
		return exec(ctx, url, "create table things (name text primary key)")
	}
	key := rand.Text() // another run on the same server must use another key
	t.Run("in parallel", func(t *testing.T) {
		for range 8 {
			t.Run("test", func(t *testing.T) {
				t.Parallel()
				url := Database(t, migrate, key)
				require.NoError(t, exec(t.Context(), url, "insert into things values ('mine')"), "another test's row would conflict")
			})
		}
	})
	require.EqualValues(t, 1, migrations.Load())
}

func TestDatabaseIsDroppedAfterItsTest(t *testing.T) {
	t.Parallel()
	var gone string
	t.Run("test", func(t *testing.T) {
		gone = Database(t, func(context.Context, string) error { return nil }, "empty")
		leaked, err := pgx.Connect(t.Context(), gone)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, leaked.Close(context.Background())) })
	})
	var pgErr *pgconn.PgError
	require.ErrorAs(t, exec(t.Context(), gone, "select 1"), &pgErr)
	require.Equal(t, "3D000", pgErr.Code, "the database must not exist")
}

func TestMigrationThatFailsFailsTheTest(t *testing.T) {
	t.Parallel()
	conf, err := configOf(mustServer(t))
	require.NoError(t, err)
	m := migrator{run: func(ctx context.Context, url string) error { return exec(ctx, url, "create nonsense") }, key: rand.Text()}
	require.ErrorContains(t, m.Migrate(t.Context(), nil, conf), "syntax error")
}

func mustServer(t *testing.T) string {
	t.Helper()
	u, err := server()
	require.NoError(t, err)
	return u
}

func TestConfigOfExternalServer(t *testing.T) {
	t.Parallel()
	conf, err := configOf("postgres://me:p%40ss%2F+w%20rd@db.example/main?sslmode=require")
	require.NoError(t, err)
	got := []string{conf.Host, conf.Port, conf.User, conf.Database, conf.Options}
	if diff := cmp.Diff([]string{"db.example", "5432", "me", "main", "sslmode=require"}, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	again, err := url.Parse(conf.URL())
	require.NoError(t, err)
	password, _ := again.User.Password()
	require.Equal(t, "p@ss/+w rd", password, "the URL that pgtestdb builds must have the same password")

	_, err = configOf("host=localhost")
	require.ErrorContains(t, err, "expected postgres://")
}
