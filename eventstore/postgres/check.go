package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// UnsafeError is a property of the database with which a reader of the log could skip events, or with
// which nodes could work against each other.
type UnsafeError struct {
	// Check is the name of the failed check.
	Check string
	// Detail says what is wrong.
	Detail string
	// Remedy says what to do.
	Remedy string
}

// SchemaCheck is the check that fails before a migration.
const SchemaCheck = "schema"

// Error names the check and the remedy.
func (e *UnsafeError) Error() string {
	return fmt.Sprintf("the database failed the check %q: %s; to repair it: %s", e.Check, e.Detail, e.Remedy)
}

// checkTimeout bounds the checks. A pooler with a single connection never answers the one of sessions.
const checkTimeout = 10 * time.Second

// Check runs the checks of a database that has been migrated: CheckServer and CheckLog. Error: a
// joined *UnsafeError for each failed check, or the one of a connection.
func Check(ctx context.Context, url string) error {
	server := CheckServer(ctx, url)
	var unsafe *UnsafeError
	if server != nil && (!errors.As(server, &unsafe) || unsafe.Check == "pooler") {
		return server // nothing more can be checked without a connection
	}
	return errors.Join(server, CheckLog(ctx, url))
}

// CheckServer checks what the log needs from the server and from each connection to it. The database
// need not be migrated. Error: a joined *UnsafeError for each failed check, or the one of a
// connection.
func CheckServer(ctx context.Context, url string) error {
	return check(ctx, url, func(ctx context.Context, first *pgx.Conn) error {
		// A standby refuses all writes, so the other checks do not matter.
		var standby bool
		var isolation, statement, idle string
		err := first.QueryRow(ctx, `select pg_is_in_recovery(), current_setting('default_transaction_isolation'),
			current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')`).
			Scan(&standby, &isolation, &statement, &idle)
		if err != nil {
			return err
		}
		if standby {
			return &UnsafeError{
				"primary", "the server is a standby, which cannot append and does not show open writers",
				"let VQA_DATABASE_URL name the primary, or promote this server with: select pg_promote()",
			}
		}
		var failed []error
		if isolation != "read committed" {
			failed = append(failed, &UnsafeError{
				"isolation", fmt.Sprintf("default_transaction_isolation is %q, and readers of the log need a new snapshot for each statement", isolation),
				"alter role " + pgx.Identifier{first.Config().User}.Sanitize() + " set default_transaction_isolation = 'read committed'",
			})
		}
		if statement == "0" || idle == "0" {
			failed = append(failed, &UnsafeError{
				"timeouts", "statement_timeout or idle_in_transaction_session_timeout is 0, so an append that hangs would stop all readers",
				fmt.Sprintf("remove them from VQA_DATABASE_URL; behind a pooler run: alter role %[1]s set statement_timeout = '30s'; "+
					"alter role %[1]s set idle_in_transaction_session_timeout = '15s'", pgx.Identifier{first.Config().User}.Sanitize()),
			})
		}
		second, err := connectOne(ctx, url)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		defer closeOne(ctx, second)
		kept, err := keepsSessions(ctx, first, second)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		if !kept {
			failed = append(failed, &UnsafeError{
				"sessions", "a pooler gives the statements of one connection to several sessions, and roles, locks and notifications belong to a session",
				"connect to Postgres directly, or set pool_mode = session in the pooler",
			})
		}
		return errors.Join(failed...)
	})
}

// keepsSessions reports whether each connection has a session of its own. The first connection sets a
// value. The second one keeps a session busy, so a pooler that shares sessions must give the next
// statement of the first connection to another session.
func keepsSessions(ctx context.Context, first, second *pgx.Conn) (bool, error) {
	const read = "select coalesce(current_setting('vqa.check', true), '')"
	token := rand.Text()
	var set, elsewhere, kept string
	if err := first.QueryRow(ctx, "select set_config('vqa.check', $1, false)", token).Scan(&set); err != nil {
		return false, err
	}
	tx, err := second.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing was written
	if err := tx.QueryRow(ctx, read).Scan(&elsewhere); err != nil {
		return false, err
	}
	if elsewhere == token {
		return false, nil
	}
	if err := first.QueryRow(ctx, read).Scan(&kept); err != nil {
		return false, err
	}
	return kept == token, nil
}

// CheckLog checks what makes the log readable in order: its sequence, its triggers and the rights of
// the service. Error: a joined *UnsafeError for each failed check, or the one of a connection.
func CheckLog(ctx context.Context, url string) error {
	return check(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		var current bool
		if err := conn.QueryRow(ctx, "select to_regprocedure('events_writers()') is not null").Scan(&current); err != nil {
			return err
		}
		if !current {
			return &UnsafeError{SchemaCheck, "the schema is missing or older than this program", "vqa migrate"}
		}
		var cache int64
		var guarded int
		var free, moves, alters bool
		err := conn.QueryRow(ctx, `
			select (select seqcache from pg_sequence where seqrelid = 'events_position_seq'::regclass),
			       (select count(*) from pg_trigger where tgrelid = 'events'::regclass and tgenabled = 'A'
			           and tgname in ('events_fence', 'events_append_only')),
			       has_column_privilege($1, 'events', 'position', 'insert'),
			       has_sequence_privilege($1, 'events_position_seq', 'update'),
			       has_table_privilege($1, 'events', 'update, delete, truncate')`, Role).
			Scan(&cache, &guarded, &free, &moves, &alters)
		if err != nil {
			return err
		}
		failed := []error{CheckTables(ctx, conn)}
		if cache != 1 {
			failed = append(failed, &UnsafeError{
				"sequence", fmt.Sprintf("the sequence of positions hands out %d at a time, so sessions use them out of order", cache),
				"alter sequence events_position_seq cache 1",
			})
		}
		if guarded != 2 {
			failed = append(failed, &UnsafeError{
				"triggers", "a trigger of the table events is missing or is not enabled always, so readers do not wait for open writers, or events can be changed",
				"alter table events enable always trigger events_fence; alter table events enable always trigger events_append_only",
			})
		}
		if free || moves || alters {
			failed = append(failed, &UnsafeError{
				"rights", "the role " + Role + " may choose positions, move their sequence or change events",
				"revoke insert, update, delete, truncate on events from " + Role + "; revoke all on sequence events_position_seq from " + Role +
					"; grant select, insert (stream, version, type, account_id, data, meta, chain) on events to " + Role +
					"; grant select on sequence events_position_seq to " + Role,
			})
		}
		return errors.Join(failed...)
	})
}

// check runs do on a connection as the service makes it, without its role.
func check(ctx context.Context, url string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := connectOne(ctx, url)
	if err == nil {
		defer closeOne(ctx, conn)
		err = do(ctx, conn)
	}
	var unsafe *UnsafeError
	if err != nil && !errors.As(err, &unsafe) {
		return fmt.Errorf("check the database: %w", err)
	}
	return err
}

// connectOne opens a connection with the parameters of the pool and as its login role. It uses the
// simple protocol, because a pooler that shares sessions breaks prepared statements.
func connectOne(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := configOf(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8" // pgx needs it to quote arguments
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && strings.Contains(refused.Message, "unsupported startup parameter") {
		return nil, &UnsafeError{
			"pooler", "a pooler refuses the parameters of a connection: " + refused.Message,
			"connect to Postgres directly, or let the pooler ignore these parameters (ignore_startup_parameters)",
		}
	}
	return conn, err
}

func closeOne(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing was written
}
