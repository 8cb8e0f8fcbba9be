package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// table is a read model with the statement that reads its rows.
type table struct {
	projections.Projection
	columns []projections.Column
	sql     string
	// kind is the kind of its mismatches.
	kind Kind
}

// rowSeed is the seed of the hashes of ids. It is random, so nobody can choose ids with equal hashes.
var rowSeed = maphash.MakeSeed()

const shapeSQL = "select exists (select from read_models where name = $1 and shape = $2)"

// comparable sets the tables to compare. Those of other categories than the ledger are compared when their rows have
// the shape of this program. Otherwise they are rebuilt when the last node of another release has stopped.
func (r *run) comparable(ctx context.Context, models []projections.Projection) error {
	for _, m := range models {
		t := table{Projection: m, columns: m.TableColumns(), kind: ReadModel}
		if m.Category().Category() == fold.Credit.Category() {
			t.kind = Balance
		} else if !r.scope.AllStreams {
			continue
		} else {
			var current bool
			if err := r.planner.QueryRow(ctx, shapeSQL, m.Table(), m.Shape()).Scan(&current); err != nil {
				return fmt.Errorf("read the shapes of the read models: %w", err)
			}
			if !current {
				r.stale = append(r.stale, m.Table())
				continue
			}
		}
		var names []string
		for _, c := range t.columns {
			names = append(names, c.Name)
		}
		t.sql = fmt.Sprintf("select %s from %s where id = any($1)", strings.Join(names, ", "), m.Table())
		r.tables = append(r.tables, t)
	}
	return nil
}

// madeRow is a row made from the log, with its place.
type madeRow struct {
	projections.Row
	of *history
	place
	found bool
}

func (m *madeRow) find(kind Kind, detail string, args ...any) {
	m.of.find(kind, m.version, m.position, detail, args...)
}

// madeBy adds the rows that are made from one event.
func (r *reader) madeBy(h *history, e stored) {
	for _, i := range h.tables {
		if row, ok := r.tables[i].Entry(e.recorded()); ok {
			r.made[i] = append(r.made[i], madeRow{Row: row, of: h, place: place{e.Version, e.position}})
		}
	}
}

// madeFrom adds the rows that are made from the state after the last event.
func (r *reader) madeFrom(h *history) error {
	for _, i := range h.tables {
		rows, err := r.tables[i].Rows(h.id.ID, h.state)
		if err != nil {
			return err
		}
		for _, row := range rows {
			r.made[i] = append(r.made[i], madeRow{Row: row, of: h, place: place{h.version, h.position}})
		}
	}
	return nil
}

// compare compares the rows that were made with those of the tables.
func (r *reader) compare(ctx context.Context) error {
	for i, t := range r.tables {
		if len(r.made[i]) == 0 {
			continue
		}
		if err := r.compareTable(ctx, t, r.made[i]); err != nil {
			return fmt.Errorf("read %s: %w", t.Table(), err)
		}
		for _, row := range r.made[i] {
			r.explained[i] = append(r.explained[i], maphash.String(rowSeed, row.ID))
		}
		clear(r.made[i])
		r.made[i] = r.made[i][:0]
	}
	return nil
}

func (r *reader) compareTable(ctx context.Context, t table, made []madeRow) error {
	slices.SortFunc(made, func(a, b madeRow) int { return cmp.Compare(a.ID, b.ID) })
	ids := make([]string, len(made))
	for i, row := range made {
		ids[i] = row.ID
	}
	found, err := r.tx.Query(ctx, t.sql, pgx.QueryResultFormats{pgx.BinaryFormatCode}, ids)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		raw := found.RawValues()
		id := string(raw[0])
		at, _ := slices.BinarySearch(ids, id)
		for ; at < len(made) && made[at].ID == id; at++ {
			made[at].found = true
			names, err := t.differing(made[at].Row, raw)
			if err != nil {
				return err
			}
			if len(names) > 0 {
				made[at].find(t.kind, "%s differs from the log in %s of row %s", t.Table(), strings.Join(names, ", "), id)
			}
		}
	}
	for _, row := range made {
		if !row.found {
			row.find(t.kind, "%s has no row %s", t.Table(), row.ID)
		}
	}
	return found.Err()
}

// differing returns the columns in which a row differs from the stored one. Documents with the same meaning are equal.
func (t table) differing(made projections.Row, read [][]byte) (names []string, err error) {
	for i, column := range t.columns {
		var want []byte
		switch {
		case i == 0:
			continue // the row has been found by its id
		case i <= len(made.Values):
			want, err = binaryOf(made.Values[i-1])
		default:
			want, err = codec.MarshalState(made.Doc)
		}
		if err != nil {
			return nil, err
		}
		same := bytes.Equal(want, read[i]) && (want == nil) == (read[i] == nil)
		if !same && (column.Type != "json" || !sameMeaning(want, read[i])) {
			names = append(names, column.Name)
		}
	}
	return names, nil
}

// postgresEpoch is the zero of a timestamptz, which counts microseconds.
var postgresEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// binaryOf returns a value in the form in which Postgres sends it. nil is null.
func binaryOf(v any) ([]byte, error) {
	eight := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) } //nolint:gosec // Postgres uses a signed type too
	switch x := v.(type) {
	case string:
		return []byte(x), nil
	case bool:
		if x {
			return []byte{1}, nil
		}
		return []byte{0}, nil
	case int64:
		return eight(x), nil
	case time.Time:
		return eight(x.UnixMicro() - postgresEpoch.UnixMicro()), nil
	case *time.Time:
		if x == nil {
			return nil, nil
		}
		return binaryOf(*x)
	default:
		return nil, fmt.Errorf("a read model has a column of type %T, which the audit cannot compare", v)
	}
}

// surplus reports the rows in scope that no event explains. A damaged stream, or another one of its account, may explain
// rows that the audit could not make.
func (r *run) surplus(ctx context.Context, i int, report *Report) error {
	t := r.tables[i]
	var explained []uint64
	for _, reader := range r.readers {
		explained = append(explained, reader.explained[i]...)
	}
	slices.Sort(explained)
	if r.facts != nil && t.kind == ReadModel {
		r.facts.Rows += int64(len(explained))
	}
	rows, err := r.planner.Query(ctx, fmt.Sprintf("select id, %[1]s from %[2]s where $1 or %[1]s = any($2)", t.Account(), t.Table()),
		r.scope.AllStreams, r.scope.Accounts)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Table(), err)
	}
	var id string
	var account *string
	_, err = pgx.ForEachRow(rows, []any{&id, &account}, func() error {
		m := Mismatch{Kind: t.kind, Detail: fmt.Sprintf("%s has the row %s, which no event explains", t.Table(), id)}
		if account != nil {
			m.AccountID = *account
		}
		damaged := slices.ContainsFunc(r.readers, func(r *reader) bool { return r.damaged[m.AccountID] || r.damaged[id] })
		if _, found := slices.BinarySearch(explained, maphash.String(rowSeed, id)); !found && !damaged {
			report.add(m)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Table(), err)
	}
	return nil
}
