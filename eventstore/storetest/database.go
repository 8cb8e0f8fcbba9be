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

// DatabaseEnv is the variable with the URL of another test server, for a superuser. Without it tests
// use an embedded server.
const DatabaseEnv = "VQA_TEST_DATABASE_URL"

const (
	serverTimeout  = 3 * time.Minute // may download Postgres first
	migrateTimeout = 2 * time.Minute
)

// held keeps the server of this process reachable. Otherwise the garbage collector could close its
// lock file, and the server could stop during a test.
var held *embedded.Server //nolint:unused // it only keeps the server reachable

// server returns the URL of the test server. The server is never closed: when the process ends, the
// kernel drops its lock, and the embedded server then stops by itself.
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

// Database returns the URL of a new database for one test, on which migrate has run. When the test
// ends, its connections are closed and it is dropped.
//
// cacheKey identifies the result of migrate, for example by a hash of its files. migrate runs once
// for each key on a server. Database fails the test when there is no server.
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

// configOf returns the configuration of pgtestdb for a server. Tests connect as the user of the URL.
// Connections are closed before a drop, because the server notices late that a process was killed.
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
	password, _ := u.User.Password() // no password means an empty one
	// pgtestdb does not escape the password in URLs. It is not used in SQL, because the role exists.
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
