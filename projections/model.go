package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
)

// Projection is a table that follows from the log.
type Projection interface {
	// Table is its name, without a schema.
	Table() string
	// Apply folds events, in the order of the log, into the table of the schema that
	// the transaction's search path finds first.
	Apply(ctx context.Context, tx pgx.Tx, events []eventstore.Recorded) error
}

// Model is a projection whose rows are a key, some columns to search by, and the
// folded state as a JSON document in the column doc.
type Model[R any] struct {
	Name string
	// Columns are those between the key ("id") and doc.
	Columns []string
	// Key names the row that an event changes; false when it changes none.
	Key func(eventstore.Recorded) (string, bool)
	// Fold changes the row; the first event of a row meets the zero R.
	Fold func(R, eventstore.Recorded) R
	// Values are those of Columns.
	Values func(R) []any
	// Born reports whether an event is the first of its row, so that no row need be
	// looked for. When nil, an event of version 1 is.
	Born func(eventstore.Recorded) bool
}

// Table implements Projection.
func (m Model[R]) Table() string { return m.Name }

// Apply implements Projection.
func (m Model[R]) Apply(ctx context.Context, tx pgx.Tx, events []eventstore.Recorded) error {
	keys, byKey := m.touched(events)
	if len(keys) == 0 {
		return nil
	}
	rows, err := m.load(ctx, tx, keys, byKey)
	if err != nil {
		return fmt.Errorf("reading %s: %w", m.Name, err)
	}
	batch := &pgx.Batch{}
	upsert := m.upsert()
	for _, key := range keys {
		row := rows[key]
		for _, e := range byKey[key] {
			row = m.Fold(row, e)
		}
		doc, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("writing %s %s: %w", m.Name, key, err)
		}
		args := append([]any{key}, m.Values(row)...)
		batch.Queue(upsert, append(args, string(doc))...)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("writing %s: %w", m.Name, err)
	}
	return nil
}

// touched groups the events by row. The keys are sorted, so that two transactions
// lock rows in one order.
func (m Model[R]) touched(events []eventstore.Recorded) ([]string, map[string][]eventstore.Recorded) {
	byKey := map[string][]eventstore.Recorded{}
	var keys []string
	for _, e := range events {
		key, ok := m.Key(e)
		if !ok {
			continue
		}
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], e)
	}
	slices.Sort(keys)
	return keys, byKey
}

func (m Model[R]) load(ctx context.Context, tx pgx.Tx, keys []string, byKey map[string][]eventstore.Recorded) (map[string]R, error) {
	var known []string
	for _, key := range keys {
		if first := byKey[key][0]; m.Born == nil && first.Version == 1 || m.Born != nil && m.Born(first) {
			continue
		}
		known = append(known, key)
	}
	rows := make(map[string]R, len(known))
	if len(known) == 0 {
		return rows, nil
	}
	found, err := tx.Query(ctx, "select id, doc from "+m.Name+" where id = any($1)", known)
	if err != nil {
		return nil, err
	}
	var key string
	var doc []byte
	_, err = pgx.ForEachRow(found, []any{&key, &doc}, func() error {
		var row R
		if err := json.Unmarshal(doc, &row); err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
		rows[key] = row
		return nil
	})
	return rows, err
}

// upsert is the statement that writes one row. Names come from the program, values
// are parameters.
func (m Model[R]) upsert() string {
	columns := append(slices.Clone(m.Columns), "doc")
	var places, sets strings.Builder
	for i, c := range columns {
		fmt.Fprintf(&places, ", $%d", i+2)
		if i > 0 {
			sets.WriteString(", ")
		}
		fmt.Fprintf(&sets, "%s = excluded.%s", c, c)
	}
	return fmt.Sprintf("insert into %s (id, %s) values ($1%s) on conflict (id) do update set %s",
		m.Name, strings.Join(columns, ", "), places.String(), sets.String())
}
