package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // pgtestdb opens its connections through database/sql
	"github.com/peterldowns/pgtestdb"

	"vqa/eventstore/embedded"
)

// DatabaseEnv names a server to test on instead of an embedded one: the URL of
// a superuser.
const DatabaseEnv = "VQA_TEST_DATABASE_URL"

const (
	serverTimeout  = 3 * time.Minute // may download Postgres first
	migrateTimeout = 2 * time.Minute
)

// held keeps the server of this process in reach: once the collector took it, the
// finalizer of its lock file would let go of the server in the midst of a test.
var held *embedded.Server //nolint:unused // being written is its use

// server is the one of this process. It is never closed: the kernel drops its
// hold when the process ends, and the embedded server then ends by itself.
var server = sync.OnceValues(func() (string, error) {
	if external := os.Getenv(DatabaseEnv); external != "" {
		return external, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), serverTimeout)
	defer cancel()
	dir := filepath.Join(os.TempDir(), "vqa-test-"+strconv.Itoa(os.Geteuid()))
	s, err := embedded.Start(ctx, embedded.Options{Dir: dir, Ephemeral: true, BinDir: os.Getenv("VQA_POSTGRES_BIN")})
	if err != nil {
		return "", err
	}
	held = s
	return s.URL("postgres"), nil
})

// Database returns the URL of a fresh database for one test, on which migrate
// has run. It is dropped when the test ends, connections to it are cut.
//
// cacheKey names the result of migrate, for example a hash of its files: on one
// server migrate runs once for each key. A database that cannot be had fails
// the test.
func Database(t testing.TB, migrate func(ctx context.Context, url string) error, cacheKey string) string {
	t.Helper()
	serverURL, err := server()
	if err != nil {
		t.Fatalf("no Postgres to test on: %v", err)
	}
	conf, err := configOf(serverURL)
	if err != nil {
		t.Fatalf("%s: %v", DatabaseEnv, err)
	}
	return pgtestdb.Custom(t, conf, migrator{run: migrate, key: cacheKey}).URL()
}

// configOf makes the server's own user that of the tests. Connections are cut
// before a drop because the end of a killed process reaches the server late.
func configOf(serverURL string) (pgtestdb.Config, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return pgtestdb.Config{}, fmt.Errorf("not a URL: %w", err)
	}
	if u.User == nil || u.Hostname() == "" {
		return pgtestdb.Config{}, fmt.Errorf("expected postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	password, _ := u.User.Password() // none is as good as an empty one
	// pgtestdb puts the password into URLs as it is. The role exists, so it does not reach SQL.
	escaped := strings.TrimPrefix(url.UserPassword("", password).String(), ":")
	role := pgtestdb.Role{Username: u.User.Username(), Password: escaped, Capabilities: "SUPERUSER"}
	return pgtestdb.Config{
		DriverName: "pgx", Host: u.Hostname(), Port: port, User: role.Username, Password: role.Password,
		Database: u.Path[min(1, len(u.Path)):], Options: u.RawQuery, TestRole: &role, ForceTerminateConnections: true,
	}, nil
}

type migrator struct {
	run func(ctx context.Context, url string) error
	key string
}

func (m migrator) Hash() (string, error) { return m.key, nil }

func (m migrator) Migrate(ctx context.Context, _ *sql.DB, conf pgtestdb.Config) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	return m.run(ctx, conf.URL())
}
