package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed *.sql
var files embed.FS

// lockKey is the key of the advisory lock that lets one process migrate at a time.
const lockKey = 0x7671_6d69_6772

// keepAlive makes the server notice within 20 s that a migrating machine has vanished. The lock of
// that machine would otherwise block the start of every other node for hours.
var keepAlive = map[string]string{
	"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": "20000",
}

// silent discards the progress messages of the migrators. Their errors are returned.
var silent = slog.New(slog.DiscardHandler)

// Up migrates the database at url to the newest schema: ours with goose, then River's. It is
// idempotent. Several processes may call it at once: the later ones wait for the first. The user of
// url must be the owner of the schema.
func Up(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	// One connection holds the lock. The other one migrates.
	config.MaxConns = 2
	for name, value := range keepAlive {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	// A pooler ignores or refuses a parameter of the connection, so this is a statement.
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set lock_timeout = "+strconv.FormatInt(lockTimeout.Milliseconds(), 10))
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer pool.Close()

	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "set lock_timeout = 0"); err != nil {
			return fmt.Errorf("migrate: lock: %w", err)
		}
		if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lockKey); err != nil {
			return fmt.Errorf("migrate: lock: %w", err)
		}
		// Closing the pool releases the lock, because the lock belongs to a connection.
		db := stdlib.OpenDBFromPool(pool)
		defer func() { _ = db.Close() }() // this does not close the pool
		if err := patiently(ctx, func() error { return upOurs(ctx, db) }); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if err := patiently(ctx, func() error { return upRiver(ctx, pool) }); err != nil {
			return fmt.Errorf("migrate River: %w", err)
		}
		return nil
	})
}

// A migration waits for the lock of a table for at most lockTimeout, because all later users of the table
// wait behind it. Then it lets them go first, and tries again for at most lockPatience.
const (
	lockTimeout  = 500 * time.Millisecond
	lockPause    = 100 * time.Millisecond
	lockPatience = time.Minute
	// lockNotAvailable is the code of Postgres for a lock that took too long.
	lockNotAvailable = "55P03"
)

// patiently repeats a migration that could not lock a table in time.
func patiently(ctx context.Context, migrate func() error) error {
	for began := time.Now(); ; {
		err := migrate()
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != lockNotAvailable {
			return err
		}
		if time.Since(began) > lockPatience {
			return fmt.Errorf("other transactions held a table for %s; end them and start again: %w", lockPatience, err)
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func upOurs(ctx context.Context, db *sql.DB) error {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(silent))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func upRiver(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := riverMigrator(pool)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func riverMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: silent})
}

// Generation returns the number of the newest migration of this program. Of two programs, the one with
// the higher generation is the newer one.
func Generation() int64 {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	number, _, _ := strings.Cut(slices.Max(names), "_")
	generation, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		panic(err) // a test of the names of the files fails first
	}
	return generation
}

// Version returns a hash of every migration, ours and River's. Tests use it as the key of a migrated
// database: it changes whenever a migration changes.
func Version() string {
	sum := sha256.New()
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		body, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(body))
		sum.Write(body)
	}
	river, err := riverMigrator(nil)
	if err != nil {
		panic(err) // the migrations are part of the program
	}
	for _, m := range river.AllVersions() {
		_, _ = io.WriteString(sum, m.SQLUp)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
