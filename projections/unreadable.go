package projections

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore/codec"
)

// Unreadable is a stream with an event that this program cannot read. In most cases a newer release
// wrote it. It may also have a payload that is not of its type, which only a foreign writer stores. The state of the stream is then not known, so its rows cannot be judged.
type Unreadable struct {
	Stream string `json:"stream"`
	// Type is the stored name of the first such event.
	Type string `json:"type"`
}

// unreadable collects the unreadable streams of a run. It is safe for concurrent use.
type unreadable struct {
	mu    sync.Mutex
	types map[string]string
}

// maxUnreadable bounds the unreadable streams in a certificate.
const maxUnreadable = 20

func (u *unreadable) add(stream, kind string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.types == nil {
		u.types = map[string]string{}
	}
	u.types[stream] = kind
}

func (u *unreadable) has(stream []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, found := u.types[string(stream)]
	return found
}

func (u *unreadable) count() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return int64(len(u.types))
}

// without returns the streams that are readable.
func (u *unreadable) without(streams []string) []string {
	return slices.DeleteFunc(streams, func(name string) bool { return u.has([]byte(name)) })
}

// examples returns the first unreadable streams, sorted.
func (u *unreadable) examples() []Unreadable {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []Unreadable
	for _, stream := range slices.Sorted(maps.Keys(u.types)) {
		if len(list) < maxUnreadable {
			list = append(list, Unreadable{stream, u.types[stream]})
		}
	}
	return list
}

// save records the unreadable streams for the continuation of an interrupted run.
func (u *unreadable) save(ctx context.Context, tx pgx.Tx) error {
	u.mu.Lock()
	streams, kinds := slices.Collect(maps.Keys(u.types)), slices.Collect(maps.Values(u.types))
	u.mu.Unlock()
	if len(streams) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "insert into "+shadow+".unreadable (stream, type) select * from unnest($1::text[], $2::text[]) on conflict do nothing", streams, kinds)
	return err
}

// load takes over the unreadable streams of an interrupted run.
func (u *unreadable) load(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, "select stream, type from "+shadow+".unreadable")
	if err != nil {
		return err
	}
	var stream, kind string
	_, err = pgx.ForEachRow(rows, []any{&stream, &kind}, func() error { u.add(stream, kind); return nil })
	return err
}

// accounts returns the values of a model's account column whose rows may follow from unreadable streams.
func (u *unreadable) accounts(ctx context.Context, tx pgx.Tx, m Projection) ([]string, error) {
	u.mu.Lock()
	var streams, accounts []string
	for name := range u.types {
		if id, err := codec.ParseStreamID(name); err == nil && id.Category == m.Category().Category() {
			streams, accounts = append(streams, name), append(accounts, id.ID)
		}
	}
	u.mu.Unlock()
	if len(streams) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, "select distinct account_id from public.events where stream = any($1)", streams)
	if err != nil {
		return nil, err
	}
	owners, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return append(accounts, owners...), err
}

// mayReplace returns an error when the new tables would lose rows of unreadable streams.
func (w *work) mayReplace(o runOptions) error {
	n := w.unreadable.count()
	if n == 0 || o.keep {
		return nil
	}
	first := w.unreadable.examples()[0]
	return fmt.Errorf("this program cannot read some events of %d streams, such as %s in %s, and would lose their rows: "+
		"rebuild with the newest release that runs on this database; nothing was changed", n, first.Type, first.Stream)
}

// keepUnreadable gives the new tables the live rows of the accounts with unreadable streams. The caller
// blocks appends.
func (w *work) keepUnreadable(ctx context.Context, tx pgx.Tx) error {
	for _, m := range w.models {
		accounts, err := w.unreadable.accounts(ctx, tx, m)
		if err != nil {
			return err
		}
		if len(accounts) == 0 {
			continue
		}
		var columns []string
		for _, c := range m.TableColumns() {
			columns = append(columns, c.Name)
		}
		list := strings.Join(columns, ", ")
		if _, err := tx.Exec(ctx, fmt.Sprintf("delete from %s.%s where %s = any($1)", shadow, m.Table(), m.Account()), accounts); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("insert into %s.%s (%s) select %s from public.%[2]s where %[5]s = any($1)",
			shadow, m.Table(), list, list, m.Account()), accounts); err != nil {
			return err
		}
	}
	return nil
}
