package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed *.sql
var files embed.FS

// lockKey is the advisory lock under which one process migrates at a time.
const lockKey = 0x7671_6d69_6772

// silent swallows the progress lines of the migrators: what they did is told by
// their errors.
var silent = slog.New(slog.DiscardHandler)

// Up brings the database at url to the newest schema: ours by goose, then River's.
// It is idempotent, and safe when several processes start at once: the later ones
// wait for the first. url must name the owner of the schema.
func Up(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	// One connection holds the lock, one works.
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer pool.Close()

	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lockKey); err != nil {
			return fmt.Errorf("migrate: lock: %w", err)
		}
		// The pool is closed at once, and the lock goes with its connection.
		db := stdlib.OpenDBFromPool(pool)
		defer func() { _ = db.Close() }() // the pool outlives it
		if err := upOurs(ctx, db); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if err := upRiver(ctx, pool); err != nil {
			return fmt.Errorf("migrate River: %w", err)
		}
		return nil
	})
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

// Version is a hash of every migration, ours and River's. It changes exactly when
// Up would lead to another schema.
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
