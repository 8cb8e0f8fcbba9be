package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Writer is a transaction that has inserted into the log and has not ended. Readers wait for it.
type Writer struct {
	// PID is the process of the session, 0 for a prepared transaction.
	PID int32
	// Prepared is the name of a prepared transaction.
	Prepared string
	// Before is the last position that readers can reach.
	Before int64
	// User, Application, Address, State and Query describe the session as pg_stat_activity does. State
	// and Query are unknown when the login role may not see them.
	User, Application, Address, State, Query string
	// began distinguishes two sessions with the same PID.
	began string
}

// maxQuery bounds the text of a query, which may contain large values, in characters.
const maxQuery = 200

// A prepared transaction has no process. It still holds the lock of its transaction id.
const writersSQL = `
select coalesce(w.pid, 0), coalesce(min(p.gid), ''), min(w.position_before), coalesce(min(a.usename), min(p.owner), ''),
       coalesce(min(a.application_name), ''), coalesce(min(host(a.client_addr)), ''), coalesce(min(a.state), ''),
       coalesce(min(left(a.query, $1)), ''), coalesce(min(a.backend_start)::text, '')
  from events_writers() w
  left join pg_stat_activity a on a.pid = w.pid
  left join pg_locks x on w.pid is null and x.pid is null and x.locktype = 'transactionid' and x.virtualtransaction = w.virtual_transaction
  left join pg_prepared_xacts p on p.transaction = x.transactionid
 group by w.pid, case when w.pid is null then w.virtual_transaction end`

// writers returns the open writers. Most of them end within milliseconds.
func writers(ctx context.Context, conn *pgx.Conn) ([]Writer, error) {
	rows, err := conn.Query(ctx, writersSQL, maxQuery)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w Writer, err error) {
		err = row.Scan(&w.PID, &w.Prepared, &w.Before, &w.User, &w.Application, &w.Address, &w.State, &w.Query, &w.began)
		return w, err
	})
}

// Remedy is the statement with which an administrator ends the writer.
func (w Writer) Remedy() string {
	if w.PID == 0 {
		return "rollback prepared '" + strings.ReplaceAll(w.Prepared, "'", "''") + "'"
	}
	return fmt.Sprintf("select pg_terminate_backend(%d)", w.PID)
}

// String describes the writer in one line.
func (w Writer) String() string {
	if w.PID == 0 {
		return fmt.Sprintf("the prepared transaction %q of user %s", w.Prepared, w.User)
	}
	return fmt.Sprintf("process %d of user %s, application %q (%s): %s", w.PID, w.User, w.Application,
		cmp.Or(w.State, "state unknown"), strings.Join(strings.Fields(w.Query), " "))
}

// attrs are the fields of a log line.
func (w Writer) attrs() []any {
	if w.PID == 0 {
		return []any{"prepared", w.Prepared, "user", w.User}
	}
	return []any{
		"pid", w.PID, "user", w.User, "application", w.Application, "address", w.Address, "state", w.State, "query", w.Query,
	}
}

// sameWriter identifies a writer between two polls. A transaction keeps its position until it ends.
type sameWriter struct {
	pid      int32
	prepared string
	before   int64
	began    string
}

func (w Writer) same() sameWriter { return sameWriter{w.PID, w.Prepared, w.Before, w.began} }

// OldWriters returns the writers that are open at the start and at the end of a second. An append takes
// milliseconds.
func OldWriters(ctx context.Context, url string) (old []Writer, err error) {
	err = check(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		before, err := writers(ctx, conn)
		if err != nil || len(before) == 0 {
			return err
		}
		known := map[sameWriter]bool{}
		for _, w := range before {
			known[w.same()] = true
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, err := writers(ctx, conn)
		for _, w := range after {
			if known[w.same()] {
				old = append(old, w)
			}
		}
		return err
	})
	return old, err
}

// WriterWatch reports transactions that have inserted into the log and do not end, and ends them. All
// subscribers and the feeds of all customers wait for the oldest of them. Run must be called.
type WriterWatch struct {
	// Pool gives the address and the login role. The watch uses a connection of its own without Role,
	// because the login role may see and end more sessions.
	Pool *pgxpool.Pool
	// Timeout is the age at which a writer is ended. 0 means never.
	Timeout time.Duration
	Log     *slog.Logger

	open map[sameWriter]*openWriter

	mu sync.Mutex
	// known is true when the last poll succeeded. oldest is when the oldest open writer was first seen,
	// or zero without one.
	known  bool
	oldest time.Time
}

// openWriter is a writer with the times of this node's clock.
type openWriter struct {
	Writer
	first, reported time.Time
}

const (
	// pollWriters is the time between two polls.
	pollWriters = time.Second
	// pollTimeout bounds a poll, and the wait for a connection.
	pollTimeout = 5 * time.Second
	// blockedAfter is the age of a writer that is worth a report. An append takes milliseconds.
	blockedAfter = 5 * time.Second
	// repeatReport is the time between two reports, and between two attempts to end a writer.
	repeatReport = time.Minute
)

// Run watches until ctx ends.
func (w *WriterWatch) Run(ctx context.Context) {
	var conn *pgx.Conn
	for ctx.Err() == nil {
		err := w.pollOnce(ctx, &conn)
		if err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "could not look for open writers of the log", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollWriters):
		}
	}
	if conn != nil {
		closeOne(ctx, conn)
	}
}

// pollOnce polls on the connection, which it opens if needed and closes after an error.
func (w *WriterWatch) pollOnce(ctx context.Context, conn **pgx.Conn) (err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if *conn == nil {
		*conn, err = pgx.ConnectConfig(ctx, w.Pool.Config().ConnConfig)
	}
	if err == nil {
		err = w.poll(ctx, *conn, time.Now())
	}
	if err != nil {
		if *conn != nil {
			closeOne(ctx, *conn)
			*conn = nil
		}
		w.record(false, time.Time{})
	}
	return err
}

// poll compares the open writers with those of the last poll.
func (w *WriterWatch) poll(ctx context.Context, conn *pgx.Conn, now time.Time) error {
	found, err := writers(ctx, conn)
	if err != nil {
		return err
	}
	open := make(map[sameWriter]*openWriter, len(found))
	oldest := time.Time{}
	for _, f := range found {
		o := w.open[f.same()]
		if o == nil {
			o = &openWriter{first: now}
		}
		o.Writer = f
		open[f.same()] = o
		if oldest.IsZero() || o.first.Before(oldest) {
			oldest = o.first
		}
	}
	for id, o := range w.open {
		if open[id] == nil && !o.reported.IsZero() {
			w.Log.InfoContext(ctx, "the transaction that blocked the readers of the log has ended",
				"pid", o.PID, "blocked", now.Sub(o.first).Round(time.Second))
		}
	}
	w.open = open
	w.record(true, oldest)
	for _, o := range open {
		if err := w.judge(ctx, conn, o, now); err != nil {
			return err
		}
	}
	return nil
}

// judge reports a writer that is too old, and ends it after Timeout.
func (w *WriterWatch) judge(ctx context.Context, conn *pgx.Conn, o *openWriter, now time.Time) error {
	age := now.Sub(o.first)
	attrs := append(o.attrs(), "blocked", age.Round(time.Second))
	due := w.Timeout > 0 && age >= w.Timeout
	firstDue := due && o.reported.Sub(o.first) < w.Timeout
	switch {
	case !due && age < blockedAfter, !o.reported.IsZero() && !firstDue && now.Sub(o.reported) < repeatReport:
		return nil
	case !due || o.PID == 0:
		w.Log.WarnContext(ctx, "an open transaction blocks all readers of the log", append(attrs, "remedy", o.Remedy())...)
	default:
		// The condition is checked in the same statement, because the process may belong to another
		// session by now.
		var ended bool
		err := conn.QueryRow(ctx, `select coalesce(bool_or(pg_terminate_backend(pid)), false)
			from (select distinct pid from events_writers() where pid = $1 and position_before = $2) w`, o.PID, o.Before).Scan(&ended)
		var refused *pgconn.PgError
		switch {
		case errors.As(err, &refused):
			w.Log.ErrorContext(ctx, "an open transaction blocks all readers of the log, and this service may not end it: run the remedy as a superuser of the database",
				append(attrs, "remedy", o.Remedy(), "error", err)...)
		case err != nil:
			return err
		case ended:
			w.Log.WarnContext(ctx, "ended a session, because its open transaction blocked all readers of the log", attrs...)
		}
	}
	o.reported = now
	return nil
}

func (w *WriterWatch) record(known bool, oldest time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known, w.oldest = known, oldest
}

// Blocked returns how long the oldest open writer has blocked the readers of the log, at least. It is
// false when this is unknown.
func (w *WriterWatch) Blocked() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.known || w.oldest.IsZero() {
		return 0, w.known
	}
	return time.Since(w.oldest), true
}

// Ready returns an error while a writer blocks the readers of the log.
func (w *WriterWatch) Ready(context.Context) error {
	if blocked, _ := w.Blocked(); blocked >= blockedAfter {
		return fmt.Errorf("an open transaction has blocked the readers of the log for %s", blocked.Round(time.Second))
	}
	return nil
}
