package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/projections"
)

// table is a read model of the ledger with the statement that reads it.
type table struct {
	model   projections.Projection
	columns []projections.Column
	sql     string
	// category is the category of the streams that the rows are made from.
	category string
	// perEntry is true when each row is made from one event instead of a state.
	perEntry bool
	// account and version are the indexes of those columns, if they exist.
	account, version int
}

// versionColumn is the column of a model of entries that contains the version of the row's
// event.
const versionColumn = "version"

func newTable(model projections.Projection) *table {
	t := &table{model: model, columns: model.TableColumns(), category: model.Category().Category()}
	// A model of entries returns no rows for any state.
	_, err := model.Rows("", nil)
	t.perEntry = err == nil
	var names []string
	for i, c := range t.columns {
		names = append(names, c.Name)
		switch c.Name {
		case model.Account():
			t.account = i
		case versionColumn:
			t.version = i
		}
	}
	t.sql = fmt.Sprintf("select %s from %s where %s = any($1)", strings.Join(names, ", "), model.Table(), model.Account())
	return t
}

// loaded are rows of the read models that the log has not explained yet.
type loaded struct {
	tables []*table
	// rows are indexed by table and id.
	rows []map[string]*modelRow
	// scratch is a buffer for a row made from the log.
	scratch []byte
}

// modelRow is a row as it was read.
type modelRow struct {
	account string
	version int64
	// cells are the columns in binary form, each after its length.
	cells []byte
}

// load reads the rows of accounts. For rows made from one event, first and end limit the
// versions to first up to before end; 0 means no limit. Rows made from a state are read if
// states is set.
func load(ctx context.Context, tx pgx.Tx, tables []*table, accounts []string, first, end int64, states bool) (*loaded, error) {
	l := &loaded{tables: tables, rows: make([]map[string]*modelRow, len(tables))}
	for i, t := range tables {
		sql, args := t.sql, []any{pgx.QueryResultFormats{pgx.BinaryFormatCode}, accounts}
		switch {
		case !t.perEntry && !states:
			continue
		case t.perEntry && first > 0:
			sql, args = sql+" and version >= $2", append(args, first)
			if end < math.MaxInt64 {
				sql, args = sql+" and version < $3", append(args, end)
			}
		}
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.model.Table(), err)
		}
		l.rows[i] = map[string]*modelRow{}
		var s space
		for rows.Next() {
			raw := rows.RawValues()
			l.rows[i][string(raw[0])] = s.row(t, raw)
		}
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.model.Table(), err)
		}
	}
	return l, nil
}

// space allocates memory for many rows at once.
type space struct {
	rows  []modelRow
	bytes []byte
	// account is the account of the previous row.
	account string
}

const (
	spaceRows  = 256
	spaceBytes = 64 << 10
)

func (s *space) row(t *table, raw [][]byte) *modelRow {
	size := 0
	for _, cell := range raw {
		size += len(cell) + binary.MaxVarintLen32
	}
	if cap(s.bytes)-len(s.bytes) < size {
		s.bytes = make([]byte, 0, max(size, spaceBytes))
	}
	if len(s.rows) == cap(s.rows) {
		s.rows = make([]modelRow, 0, spaceRows)
	}
	if string(raw[t.account]) != s.account {
		s.account = string(raw[t.account])
	}
	begin := len(s.bytes)
	for _, cell := range raw {
		s.bytes = appendCell(s.bytes, cell)
	}
	row := modelRow{account: s.account, cells: s.bytes[begin:len(s.bytes):len(s.bytes)]}
	if t.perEntry {
		row.version = number(raw[t.version])
	}
	s.rows = append(s.rows, row)
	return &s.rows[len(s.rows)-1]
}

// appendCell appends the length and the bytes of a cell. null differs from an empty cell.
func appendCell(to, cell []byte) []byte {
	if cell == nil {
		return append(to, 0)
	}
	to = binary.AppendUvarint(to, uint64(len(cell))+1)
	return append(to, cell...)
}

// cells splits a row into its cells.
func cells(row []byte) [][]byte {
	var all [][]byte
	for len(row) > 0 {
		size, n := binary.Uvarint(row)
		row = row[n:]
		if size == 0 {
			all = append(all, nil)
			continue
		}
		all, row = append(all, row[:size-1]), row[size-1:]
	}
	return all
}

// postgresEpoch is the zero of a timestamptz, which counts microseconds.
var postgresEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// appendValue appends a value in the form in which Postgres sends it.
func appendValue(to []byte, v any) ([]byte, error) {
	eight := func(n int64) []byte {
		return append(append(to, 9), binary.BigEndian.AppendUint64(nil, uint64(n))...) //nolint:gosec // the reader converts it back
	}
	switch x := v.(type) {
	case string:
		return appendCell(to, []byte(x)), nil
	case bool:
		if x {
			return appendCell(to, []byte{1}), nil
		}
		return appendCell(to, []byte{0}), nil
	case int64:
		return eight(x), nil
	case time.Time:
		return eight(x.UnixMicro() - postgresEpoch.UnixMicro()), nil
	case *time.Time:
		if x == nil {
			return append(to, 0), nil
		}
		return eight(x.UnixMicro() - postgresEpoch.UnixMicro()), nil
	default:
		return nil, fmt.Errorf("a read model has a column of type %T, which the audit cannot compare", v)
	}
}

// entry explains the rows made from one event.
func (l *loaded) entry(h *history, category string, r eventstore.Recorded) {
	for i, t := range l.tables {
		if !t.perEntry || t.category != category {
			continue
		}
		if row, ok := t.model.Entry(r); ok {
			l.compare(h, i, row, fromEntry, r.Version, place{r.Version, r.Position})
		}
	}
}

// state explains the rows made from the state after the last event of a stream.
func (l *loaded) state(h *history, category, id string, state any) error {
	for i, t := range l.tables {
		if t.perEntry || t.category != category || h.version == 0 {
			continue
		}
		rows, err := t.model.Rows(id, state)
		if err != nil {
			return err
		}
		for _, row := range rows {
			l.compare(h, i, row, fromFold, atEnd, place{h.version, h.position})
		}
	}
	return nil
}

// compare compares a row made from the log with the row that was read.
func (l *loaded) compare(h *history, i int, made projections.Row, from source, version int64, at place) {
	name := l.tables[i].model.Table()
	read, ok := l.rows[i][made.ID]
	if !ok {
		h.note(finding{Balance, from, version, at, fmt.Sprintf("%s has no row %s", name, made.ID)})
		return
	}
	delete(l.rows[i], made.ID)
	want, err := l.encode(made)
	if err != nil {
		h.note(finding{Balance, from, version, at, fmt.Sprintf("%s cannot be compared: %v", name, err)})
		return
	}
	if bytes.Equal(want, read.cells) {
		return
	}
	if names := l.differ(h, l.tables[i], cells(want), cells(read.cells)); len(names) > 0 {
		h.note(finding{Balance, from, version, at, fmt.Sprintf("%s differs from the log in %s of row %s", name, strings.Join(names, ", "), made.ID)})
	}
}

// encode writes a row in the form in which it is read.
func (l *loaded) encode(row projections.Row) ([]byte, error) {
	out, err := appendValue(l.scratch[:0], row.ID)
	for _, v := range row.Values {
		if err == nil {
			out, err = appendValue(out, v)
		}
	}
	if err != nil {
		return nil, err
	}
	doc, err := codec.MarshalState(row.Doc)
	if err != nil {
		return nil, err
	}
	l.scratch = appendCell(out, doc)
	return l.scratch, nil
}

// differ returns the columns in which a row differs. Documents with the same meaning are
// equal.
func (l *loaded) differ(h *history, t *table, want, read [][]byte) []string {
	var names []string
	for c, column := range t.columns {
		switch {
		case bytes.Equal(want[c], read[c]):
		case column.Type != "json":
			names = append(names, column.Name)
		case sameJSON(want[c], read[c]):
		case len(names) == 0 && h.details != nil && h.details(want[c], read[c]):
			// The details have already been reported.
		default:
			names = append(names, column.Name)
		}
	}
	return names
}

// openHolds reports the open holds in which two documents of a balance differ. It returns
// whether they differ in nothing else.
func (a *account) openHolds(log, doc []byte) bool {
	var want, read credit.State
	if json.Unmarshal(log, &want) != nil || json.Unmarshal(doc, &read) != nil {
		return false
	}
	differ := func(other credit.Holds, h credit.OpenHold) bool {
		o, open := other.Get(h.SourceID)
		sameTimes := o.CreatedAt.Equal(h.CreatedAt) && o.ExpiresAt.Equal(h.ExpiresAt)
		o.CreatedAt, o.ExpiresAt = h.CreatedAt, h.ExpiresAt
		return !open || !sameTimes || o != h
	}
	for h := range want.Holds.All() {
		if differ(read.Holds, h) {
			a.note(finding{
				Hold, fromFold, atEnd, a.opened[h.SourceID],
				fmt.Sprintf("the hold %s of %s in the read model differs from the log or is missing", h.ID, h.SourceID),
			})
		}
	}
	for h := range read.Holds.All() {
		if _, open := want.Holds.Get(h.SourceID); !open {
			a.note(finding{
				Hold, fromFold, atEnd, place{a.version, a.position},
				fmt.Sprintf("the read model has the hold %s of %s, which is not open", h.ID, h.SourceID),
			})
		}
	}
	read.Holds = want.Holds
	same, err := json.Marshal(read)
	return err == nil && bytes.Equal(same, log)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// surplus reports the rows of the accounts that no event explains.
func (l *loaded) surplus(accounts map[string]*account) {
	for i, t := range l.tables {
		for _, id := range slices.Sorted(maps.Keys(l.rows[i])) {
			row := l.rows[i][id]
			h := accounts[row.account].history
			f := finding{
				Balance, fromFold, atEnd, place{h.version, h.position},
				fmt.Sprintf("%s has the row %s, which no event explains", t.model.Table(), id),
			}
			if t.perEntry {
				f.source, f.version, f.at.version = fromEntry, row.version, row.version
				if row.version <= h.version {
					f.at.position = 0 // the event at this version is not the event of the row
				}
			}
			h.note(f)
		}
	}
}
