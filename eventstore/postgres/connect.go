package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Role is the database role of the service. It may add events but not change them.
const Role = "vqa_service"

// The limits of a service connection. idleInTransaction also bounds how long a writer that hangs
// between two statements can delay the readers of the log and keep its locks. A node that is stopped
// within a transaction must not delay the takeover of its work beyond 30 s.
const (
	maxConns          = 24
	connectTimeout    = 10 * time.Second
	statementTimeout  = 30 * time.Second
	idleInTransaction = 15 * time.Second
)

// AuditorRole is the database role of an auditor. It may read everything and change nothing.
const AuditorRole = "vqa_auditor"

// ConnectAuditor returns a pool of connections that only read, also on a replica. They take AuditorRole
// when the user of the URL is a member of it. Otherwise the rights of that user must be enough.
func ConnectAuditor(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := configOf(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		var member bool
		err := conn.QueryRow(ctx, "select exists (select from pg_roles where rolname = $1 and pg_has_role(oid, 'member'))", AuditorRole).Scan(&member)
		if err == nil && member {
			_, err = conn.Exec(ctx, "set role "+AuditorRole)
		}
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return pool, nil
}

// IsReplica reports whether the server of a pool is a replica, which may not have replayed the newest rows yet.
func IsReplica(ctx context.Context, pool *pgxpool.Pool) (replica bool, err error) {
	if err := pool.QueryRow(ctx, "select pg_catalog.pg_is_in_recovery()").Scan(&replica); err != nil {
		return false, fmt.Errorf("ask whether the database is a replica: %w", err)
	}
	return replica, nil
}

// configOf returns the configuration of the service's connections. The parameters of the URL override
// the defaults, except for the isolation.
func configOf(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name":                    "vqa",
		"statement_timeout":                   fmt.Sprint(statementTimeout.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(idleInTransaction.Milliseconds()),
	} {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	KeepAlive(config.ConnConfig)
	config.ConnConfig.Tracer = deadlines{}
	// Reading in order needs a new snapshot for each statement.
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	return config, nil
}

// Connect returns a pool of connections with Role. The database must have been migrated. The pool_*
// and runtime parameters of the URL override the defaults: 24 connections, 30 s for a statement,
// 15 s idle in a transaction. A statement whose context has an eventstore.Patience waits at most
// that long.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := configOf(url)
	if err != nil {
		return nil, err
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "set role "+Role); err != nil {
			return fmt.Errorf("take the role %s (is the database migrated?): %w", Role, err)
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return pool, nil
}
