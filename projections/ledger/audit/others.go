package audit

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// otherTable is a read model that does not belong to the ledger.
type otherTable struct {
	*table
	sql string

	mu sync.Mutex
	// seen has a hash of the id of each row that the log explains.
	seen map[uint64]struct{}
}

// rowSeed is the seed of the hashes of ids. It is random, so nobody can choose ids with equal hashes.
var rowSeed = maphash.MakeSeed()

const shapeSQL = "select exists (select from read_models where name = $1 and shape = $2)"

// comparable returns the tables whose rows have the shape of this program. Others are rebuilt when the
// last node of another release has stopped.
func (r *run) comparable(ctx context.Context, models []projections.Projection) (tables []*otherTable, err error) {
	for _, m := range models {
		var current bool
		if err := r.planner.QueryRow(ctx, shapeSQL, m.Table(), m.Shape()).Scan(&current); err != nil {
			return nil, fmt.Errorf("read the shapes of the read models: %w", err)
		}
		if !current {
			r.stale = append(r.stale, m.Table())
			continue
		}
		t := &otherTable{table: newTable(m), seen: map[uint64]struct{}{}}
		t.sql = strings.Replace(t.table.sql, "where "+m.Account()+" = any($1)", "where id = any($1)", 1)
		tables = append(tables, t)
	}
	return tables, nil
}

// other is a stream of another category with its state.
type other struct {
	*history
	id    eventstore.StreamID
	state any
	// entries are rows made from single events.
	entries []madeRow
	// unknown is set when an event could not be folded, so that the state is not known.
	unknown bool
}

// madeRow is a row made from the log.
type madeRow struct {
	projections.Row
	of                *other
	version, position int64
}

// chains verifies the chains of the streams in a range, and their read models.
func (r *reader) chains(ctx context.Context, p piece) error {
	streams := make(map[string]*other, len(p.heads))
	for _, h := range p.heads {
		streams[h.stream] = r.other(h)
	}
	var current *other
	err := r.between(ctx, p, len(r.others) > 0, func(stream string, e stored) {
		if current == nil || current.head.stream != stream {
			known := false
			if current, known = streams[stream]; !known {
				current = r.other(head{stream: stream, version: noHead})
				streams[stream] = current
			}
			current.account = e.account
		}
		current.take(e)
		if current.taken%r.part == 0 {
			r.done(r.part)
		}
	})
	if err != nil {
		return err
	}
	if err := r.compareOthers(ctx, streams); err != nil {
		return err
	}
	for _, o := range streams {
		o.end()
		r.report.add(o.verdict()...)
		r.stream(o.history)
		r.done(o.taken % r.part)
	}
	return nil
}

// other returns a stream whose events are folded, if a read model needs its state.
func (r *reader) other(h head) *other {
	o := &other{history: &history{head: h}}
	id, err := codec.ParseStreamID(h.stream)
	category, known := fold.Named(id.Category)
	if err != nil || !known {
		return o
	}
	o.id = id
	needed := false
	for _, t := range r.others {
		needed = needed || t.category == id.Category
	}
	if !needed {
		return o
	}
	o.apply = func(e stored) {
		if o.unknown || e.unreadable != "" || e.broken != nil {
			o.unknown = true
			return
		}
		recorded := eventstore.Recorded{Stream: o.id, Version: e.version, Position: e.position, Event: e.event}
		var failed error
		if o.state, failed = category.FoldAny(o.state, recorded); failed != nil {
			o.unknown = true
			return
		}
		for _, t := range r.others {
			if t.category != id.Category {
				continue
			}
			if row, ok := t.model.Entry(recorded); ok {
				o.entries = append(o.entries, madeRow{row, o, e.version, e.position})
			}
		}
	}
	return o
}

// compareOthers compares the read models of streams with rows made from the log.
func (r *reader) compareOthers(ctx context.Context, streams map[string]*other) error {
	for _, t := range r.others {
		var made []madeRow
		for _, o := range streams {
			if o.id.Category != t.category || o.version == 0 {
				continue
			}
			made = append(made, o.entries...)
			if o.unknown || t.perEntry {
				continue
			}
			rows, err := t.model.Rows(o.id.ID, o.state)
			if err != nil {
				return err
			}
			for _, row := range rows {
				made = append(made, madeRow{row, o, o.version, o.position})
			}
		}
		if err := r.compareTable(ctx, t, made); err != nil {
			return fmt.Errorf("read %s: %w", t.model.Table(), err)
		}
	}
	return nil
}

// compareTable compares the rows of one table.
func (r *reader) compareTable(ctx context.Context, t *otherTable, made []madeRow) error {
	if len(made) == 0 {
		return nil
	}
	ids := make([]string, len(made))
	for i, row := range made {
		ids[i] = row.ID
	}
	t.explain(ids)
	found, err := r.tx.Query(ctx, t.sql, pgx.QueryResultFormats{pgx.BinaryFormatCode}, ids)
	if err != nil {
		return err
	}
	defer found.Close()
	read := make(map[string][]byte, len(made))
	for found.Next() {
		var cells []byte
		raw := found.RawValues()
		for _, cell := range raw {
			cells = appendCell(cells, cell)
		}
		read[string(raw[0])] = cells
	}
	if err := found.Err(); err != nil {
		return err
	}
	l := &loaded{tables: r.tables}
	for _, row := range made {
		note := func(format string, args ...any) {
			row.of.note(finding{ReadModel, fromFold, row.version, place{row.version, row.position}, t.model.Table() + fmt.Sprintf(format, args...)})
		}
		cellsRead, ok := read[row.ID]
		if !ok {
			note(" has no row %s", row.ID)
			continue
		}
		want, err := l.encode(row.Row)
		if err != nil {
			note(" cannot be compared: %v", err)
			continue
		}
		if names := t.differing(cells(want), cells(cellsRead)); len(names) > 0 {
			note(" differs from the log in %s of row %s", strings.Join(names, ", "), row.ID)
		}
	}
	return nil
}

// explain notes the ids of rows that the log explains.
func (t *otherTable) explain(ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		t.seen[maphash.String(rowSeed, id)] = struct{}{}
	}
}

// differing returns the columns in which two rows differ.
func (t *otherTable) differing(want, read [][]byte) (names []string) {
	for i, column := range t.columns {
		if !bytes.Equal(want[i], read[i]) && (column.Type != "json" || !sameMeaning(want[i], read[i])) {
			names = append(names, column.Name)
		}
	}
	return names
}

// verifySurplus reports the rows of other read models that no event explains.
func (r *run) verifySurplus(ctx context.Context) error {
	for _, t := range r.others {
		r.facts.Rows += int64(len(t.seen))
		rows, err := r.planner.Query(ctx, fmt.Sprintf("select id, %s from %s", t.model.Account(), t.model.Table()))
		if err != nil {
			return fmt.Errorf("read %s: %w", t.model.Table(), err)
		}
		var id string
		var account *string
		_, err = pgx.ForEachRow(rows, []any{&id, &account}, func() error {
			if _, explained := t.seen[maphash.String(rowSeed, id)]; !explained {
				m := Mismatch{Kind: ReadModel, Detail: fmt.Sprintf("%s has the row %s, which no event explains", t.model.Table(), id)}
				if account != nil {
					m.AccountID = *account
				}
				r.readers[0].report.add(m)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", t.model.Table(), err)
		}
	}
	return nil
}
