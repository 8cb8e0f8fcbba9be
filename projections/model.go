package projections

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// Projection is a table whose rows are made from the log.
type Projection interface {
	// Table returns its name, without a schema.
	Table() string
	// Category returns the category of the streams that its rows are made from.
	Category() fold.Aggregate
	// Shape identifies the form of its rows. A table of another shape is rebuilt.
	Shape() string
	// Account returns the column that contains the account of a row.
	Account() string
	// TableColumns returns its columns: the key, the search columns, and doc.
	TableColumns() []Column
	// Rows returns all rows of a stream for a state.
	Rows(id string, state any) ([]Row, error)
	// Entry returns the row of one event, and false when the event has none.
	Entry(r eventstore.Recorded) (Row, bool)
	// Queue adds a statement to an append that updates the table.
	Queue(trip *pgx.Batch, writes []eventstore.Write) error
}

// Column is one column of a read model.
type Column struct {
	Name string
	// Type is the SQL type.
	Type string
}

// Row is one row of a read model.
type Row struct {
	ID string
	// Values are the values of a Model's Columns: a string for text, int64 for bigint, bool
	// for boolean, *time.Time for timestamptz.
	Values []any
	// Doc is stored as JSON in the column doc.
	Doc any
}

// Model is a projection whose rows are a key, some search columns and a JSON document. A
// row belongs to one stream of one category. It is a pure function of the stream's state
// (States) or of one of its events (Entries). So a live row and a rebuilt row are equal,
// and an append writes rows without reading any.
type Model[S any, E eventstore.Event] struct {
	Name string
	Of   fold.Of[S, E]
	// Revision is raised when the same log gives other rows.
	Revision int
	// AccountColumn is "id" or one of Columns.
	AccountColumn string
	// Columns are the columns between the key ("id") and doc.
	Columns []Column
	// States returns all rows of a stream in a state. It is nil for a model of entries.
	States func(id string, state S) []Row
	// Entries returns the row of an event, which never changes. It is nil for a model of
	// states.
	Entries func(version int64, event E) (Row, bool)
}

// Table implements Projection.
func (m Model[S, E]) Table() string { return m.Name }

// Category implements Projection.
func (m Model[S, E]) Category() fold.Aggregate { return m.Of }

// Account implements Projection.
func (m Model[S, E]) Account() string { return m.AccountColumn }

// TableColumns implements Projection.
func (m Model[S, E]) TableColumns() []Column {
	all := append([]Column{{"id", "text"}}, m.Columns...)
	return append(all, Column{"doc", "json"})
}

// Shape implements Projection.
func (m Model[S, E]) Shape() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d", m.Revision)
	for _, c := range m.TableColumns() {
		fmt.Fprintf(&s, ",%s %s", c.Name, c.Type)
	}
	return s.String()
}

// Rows implements Projection.
func (m Model[S, E]) Rows(id string, state any) ([]Row, error) {
	if m.States == nil {
		return nil, nil
	}
	s, ok := state.(S)
	if !ok {
		return nil, fmt.Errorf("the write to %s/%s has a state of type %T", m.Of.Category(), id, state)
	}
	return m.States(id, s), nil
}

// Entry implements Projection.
func (m Model[S, E]) Entry(r eventstore.Recorded) (Row, bool) {
	event, ok := r.Event.(E)
	if m.Entries == nil || !ok {
		return Row{}, false
	}
	return m.Entries(r.Version, event)
}

// Queue implements Projection.
func (m Model[S, E]) Queue(trip *pgx.Batch, writes []eventstore.Write) error {
	// The rows of a new stream cannot exist yet, and a plain insert costs less than an
	// upsert.
	var added, changed []Row
	for _, w := range writes {
		if w.Stream.Category != m.Of.Category() || len(w.Events) == 0 {
			continue
		}
		rows, err := m.written(w)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if w.Expected == 0 || m.Entries != nil {
			added = append(added, rows...)
		} else {
			changed = append(changed, rows...)
		}
	}
	return errors.Join(m.queue(trip, added, m.insert), m.queue(trip, changed, m.upsert))
}

// written returns the rows of one write.
func (m Model[S, E]) written(w eventstore.Write) ([]Row, error) {
	if m.States != nil {
		return m.Rows(w.Stream.ID, w.State)
	}
	var rows []Row
	for i, e := range w.Events {
		if row, ok := m.Entry(eventstore.Recorded{Version: w.Expected + int64(i) + 1, Event: e.Event}); ok {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (m Model[S, E]) queue(trip *pgx.Batch, rows []Row, sql func() string) error {
	if len(rows) == 0 {
		return nil
	}
	// Sorted, so that concurrent appends lock rows in the same order.
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	args, err := m.arrays(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	trip.Queue(sql(), args...)
	return nil
}

// arrays returns one slice per column.
func (m Model[S, E]) arrays(rows []Row) ([]any, error) {
	ids, docs := make([]string, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		doc, err := codec.MarshalState(r.Doc)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", r.ID, err)
		}
		ids[i], docs[i] = r.ID, string(doc)
	}
	args := make([]any, 0, len(m.Columns)+2)
	args = append(args, ids)
	for c, column := range m.Columns {
		values, err := array(column, rows, c)
		if err != nil {
			return nil, err
		}
		args = append(args, values)
	}
	return append(args, docs), nil
}

// array returns a column of rows as a typed slice, which pgx sends without reflection.
func array(column Column, rows []Row, c int) (any, error) {
	switch column.Type {
	case "text":
		return typed[string](column, rows, c)
	case "bigint":
		return typed[int64](column, rows, c)
	case "boolean":
		return typed[bool](column, rows, c)
	case "timestamptz":
		return typed[*time.Time](column, rows, c)
	default:
		return nil, fmt.Errorf("column %s has type %s, which this program cannot send", column.Name, column.Type)
	}
}

func typed[T any](column Column, rows []Row, c int) ([]T, error) {
	values := make([]T, len(rows))
	for i, r := range rows {
		v, ok := r.Values[c].(T)
		if !ok {
			return nil, fmt.Errorf("row %s: column %s holds a %T", r.ID, column.Name, r.Values[c])
		}
		values[i] = v
	}
	return values, nil
}

// insert returns the statement that adds rows. All names are constants of the program, and
// all values are parameters. The arrays are in subselects, as in an append, so that the
// planner keeps one plan.
func (m Model[S, E]) insert() string {
	var names, arrays, reads []string
	for i, c := range m.TableColumns() {
		kind, read := c.Type, "r."+c.Name
		if kind == "json" {
			kind, read = "text", read+"::json"
		}
		names = append(names, c.Name)
		arrays = append(arrays, fmt.Sprintf("(select $%d::%s[])", i+1, kind))
		reads = append(reads, read)
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("insert into %s (%s) select %s from unnest(%s) as r(%s)",
		m.Name, list, strings.Join(reads, ", "), strings.Join(arrays, ", "), list)
}

// upsert returns the statement that adds rows or replaces existing ones.
func (m Model[S, E]) upsert() string {
	var sets []string
	for _, c := range m.TableColumns()[1:] {
		sets = append(sets, c.Name+" = excluded."+c.Name)
	}
	return m.insert() + " on conflict (id) do update set " + strings.Join(sets, ", ")
}
