package projections

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// shadow is the schema of the tables under construction and of the data needed to resume a
// run. retired is the schema that the live tables move to at the swap.
const (
	shadow  = "rebuild"
	retired = "retired"
)

// work is one run of a Rebuilder.
type work struct {
	*Rebuilder
	// conn holds the rebuild lock.
	conn *pgx.Conn
	// side is used by the rounds and the swap.
	side    *pgx.Conn
	models  []Projection
	started time.Time
	// position is the position of the last event in the shadow tables.
	position int64
	// chunks are the chunks that are not filled yet, the largest first.
	chunks []chunk
	// total is the number of events in the plan, and folded the number of events folded so
	// far.
	total, folded int64
	states        stateCache
	unreadable    unreadable
	reporting     sync.Mutex
}

// chunk is a range of stream names. lower is inclusive and upper is exclusive; a nil upper
// means no bound. All chunks together cover every possible name.
type chunk struct {
	n      int
	lower  string
	upper  *string
	events int64
}

// chunkEvents is the approximate number of events in a chunk. A stream is never divided.
const chunkEvents = 20_000

// report counts events and reports the progress of a stage.
func (w *work) report(stage Stage, more, total int64) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if stage == Folding || stage == CatchingUp {
		w.folded += more
		more = w.folded
	}
	if w.Progress != nil {
		w.Progress(stage, more, total)
	}
}

// plan creates the shadow tables and the list of chunks, or takes over those of an
// interrupted run that still fits.
func (w *work) plan(ctx context.Context) error {
	if _, err := w.conn.Exec(ctx, "drop schema if exists "+retired+" cascade"); err != nil {
		return err
	}
	fingerprint, err := w.fingerprint(ctx)
	if err != nil {
		return err
	}
	if found, err := w.resume(ctx, fingerprint); err != nil || found {
		return err
	}
	err = w.withFence(ctx, func() error {
		return w.conn.QueryRow(ctx, "select coalesce(max(position), 0) from public.events").Scan(&w.position)
	})
	if err != nil {
		return err
	}
	if err := w.divide(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, w.conn, func(tx pgx.Tx) error { return w.prepare(ctx, tx, fingerprint) })
}

// fingerprint changes when the shadow tables of an earlier run can no longer be used. It
// covers the requested read models, their shapes, and the definitions of the live tables.
func (w *work) fingerprint(ctx context.Context) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\x00", w.Readable) // a newer program can read more streams
	for _, m := range w.models {
		var definition string
		err := w.conn.QueryRow(ctx, `
			select concat(
				(select string_agg(concat_ws(' ', attname, atttypid, attnotnull), ',' order by attnum) from pg_attribute
				  where attrelid = t.oid and attnum > 0),
				(select string_agg(conname || pg_get_constraintdef(oid), ',' order by conname) from pg_constraint where conrelid = t.oid),
				(select string_agg(pg_get_indexdef(indexrelid), ',' order by indexrelid) from pg_index where indrelid = t.oid),
				t.reloptions)
			from pg_class t where t.oid = $1::text::regclass`, "public."+m.Table()).Scan(&definition)
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.Table(), err)
		}
		fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", m.Table(), m.Shape(), definition)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// resume loads the plan of an interrupted run.
func (w *work) resume(ctx context.Context, fingerprint string) (bool, error) {
	err := w.conn.QueryRow(ctx, "select position, events from "+shadow+".run where fingerprint = $1", fingerprint).Scan(&w.position, &w.total)
	if errors.Is(err, pgx.ErrNoRows) || undefined(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rows, err := w.conn.Query(ctx, "select n, lower, upper, events from "+shadow+".chunks where not done order by events desc, n")
	if err != nil {
		return false, err
	}
	w.chunks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c chunk, err error) {
		return c, row.Scan(&c.n, &c.lower, &c.upper, &c.events)
	})
	w.folded = w.total
	if err != nil {
		return false, err
	}
	for _, c := range w.chunks {
		w.folded -= c.events
	}
	return true, w.unreadable.load(ctx, w.conn)
}

// undefined reports whether a table or its schema does not exist.
func undefined(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42P01"
}

// divide makes the list of chunks from the heads of the streams. The ranges have no gaps,
// so a stream without a head is folded too.
func (w *work) divide(ctx context.Context) error {
	rows, err := w.conn.Query(ctx, "select stream, version from public.streams where "+w.ofCategories()+" order by stream")
	if err != nil {
		return err
	}
	at := chunk{n: 1}
	var name string
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&name, &version}, func() error {
		if at.events > 0 && at.events+version > chunkEvents {
			upper := name
			at.upper = &upper
			w.chunks = append(w.chunks, at)
			at = chunk{n: at.n + 1, lower: upper}
		}
		at.events += version
		w.total += version
		return nil
	})
	w.chunks = append(w.chunks, at)
	return err
}

// ofCategories returns a condition on the column stream: one of the models of this run
// needs it. A run of all models needs nearly every stream and has no condition.
func (w *work) ofCategories() string {
	if len(w.models) == len(w.Projections) {
		return "true"
	}
	var conditions []string
	for _, name := range w.categories() {
		// Categories are constants of the program.
		conditions = append(conditions, fmt.Sprintf("starts_with(stream, '%s/')", name))
	}
	return "(" + strings.Join(conditions, " or ") + ")"
}

// categories returns the categories of streams that the models need.
func (w *work) categories() []string {
	var names []string
	seen := map[string]bool{}
	for _, m := range w.models {
		if name := m.Category().Category(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// prepare creates the shadow tables without keys and indexes, which are faster to build
// after the rows.
func (w *work) prepare(ctx context.Context, tx pgx.Tx, fingerprint string) error {
	_, err := tx.Exec(ctx, fmt.Sprintf(`
		drop schema if exists %[1]s cascade;
		create schema %[1]s;
		create table %[1]s.run (position bigint not null, fingerprint text not null, events bigint not null);
		create table %[1]s.chunks (n integer primary key, lower text not null, upper text, events bigint not null, done boolean not null);
		create table %[1]s.unreadable (stream text primary key, type text not null);
		create table %[1]s.indexed (name text primary key)`, shadow))
	if err != nil {
		return err
	}
	for _, m := range w.models {
		if _, err := tx.Exec(ctx, fmt.Sprintf(`
			create table %[1]s.%[2]s (like public.%[2]s including defaults including constraints including storage including comments);
			grant select, insert, update, delete on %[1]s.%[2]s to %[3]s`,
			shadow, m.Table(), pgx.Identifier{w.Role}.Sanitize())); err != nil {
			return err
		}
		if err := copyOptions(ctx, tx, m.Table()); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "insert into "+shadow+".run (position, fingerprint, events) values ($1, $2, $3)", w.position, fingerprint, w.total); err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{shadow, "chunks"}, []string{"n", "lower", "upper", "events", "done"},
		pgx.CopyFromSlice(len(w.chunks), func(i int) ([]any, error) {
			c := w.chunks[i]
			return []any{c.n, c.lower, c.upper, c.events, false}, nil
		}))
	return err
}

// copyOptions gives a shadow table the storage parameters of the live table.
func copyOptions(ctx context.Context, tx pgx.Tx, table string) error {
	var options *string
	err := tx.QueryRow(ctx, "select array_to_string(reloptions, ', ') from pg_class where oid = $1::text::regclass", "public."+table).Scan(&options)
	if err != nil || options == nil {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf("alter table %s.%s set (%s)", shadow, table, *options))
	return err
}
