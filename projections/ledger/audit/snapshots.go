package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// storedSnapshot is the snapshot of a stream.
type storedSnapshot struct {
	stream            string
	version           int64
	state, chain, mac []byte
}

const snapshotsSQL = `
select stream, snapshot_version, snapshot::text, snapshot_chain, snapshot_mac from streams
 where stream > $1 and snapshot is not null order by stream limit $2`

// snapshots compares each snapshot with the fold of its events.
func (r *run) snapshots(ctx context.Context, facts *LogFacts) error {
	var compared, foreign atomic.Int64
	err := r.spreadSnapshots(ctx, func(reader *reader, s storedSnapshot) error {
		same, err := reader.snapshot(ctx, s)
		if compared.Add(1); !same {
			foreign.Add(1)
		}
		return err
	})
	facts.Snapshots, facts.OtherShapes = compared.Load()-foreign.Load(), foreign.Load()
	return err
}

// spreadSnapshots gives each snapshot to one of the readers.
func (r *run) spreadSnapshots(ctx context.Context, check func(*reader, storedSnapshot) error) error {
	pages := make(map[string]storedSnapshot)
	work := func(reader *reader, _ context.Context, p piece) error {
		return check(reader, pages[p.from])
	}
	for last := ""; ; {
		rows, err := r.planner.Query(ctx, snapshotsSQL, last, r.page)
		if err != nil {
			return fmt.Errorf("read the snapshots: %w", err)
		}
		page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s storedSnapshot, err error) {
			return s, row.Scan(&s.stream, &s.version, &s.state, &s.chain, &s.mac)
		})
		if err != nil {
			return fmt.Errorf("read the snapshots: %w", err)
		}
		clear(pages)
		for _, s := range page {
			pages[s.stream], last = s, s.stream
		}
		err = r.spread(ctx, work, func(_ context.Context, emit func(piece) error) error {
			for _, s := range page {
				if err := emit(piece{from: s.stream}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(page) < r.page {
			return err
		}
	}
}

// snapshot compares one snapshot with the fold of its events. It returns false for a snapshot of
// another release.
func (r *reader) snapshot(ctx context.Context, s storedSnapshot) (same bool, err error) {
	id, err := codec.ParseStreamID(s.stream)
	if err != nil {
		return false, err
	}
	h := &history{head: head{stream: s.stream, version: s.version}}
	fail := func(kind Kind, detail string, args ...any) {
		r.report.add(Mismatch{
			AccountID: h.account, Kind: kind, Stream: s.stream, Version: s.version, Position: h.position, Detail: fmt.Sprintf(detail, args...),
		})
	}
	state, readable, err := r.foldTo(ctx, h, id, s.version)
	if err != nil {
		return false, err
	}
	if r.macs != nil {
		if err := r.macs.CheckSnapshot(id, s.version, s.chain, s.state, s.mac); err != nil {
			fail(Forged, "the service did not write the snapshot: %v", err)
			return true, nil
		}
	}
	category, known := fold.Named(id.Category)
	if !known || !category.SameShape(s.state) {
		return false, nil
	}
	if !readable || h.version != s.version {
		return true, nil // the damaged event is reported
	}
	want, err := category.Snapshot(state)
	if err != nil {
		return true, err
	}
	if !sameMeaning(want, s.state) {
		fail(Snapshot, "the snapshot differs from the state that its events fold to")
	}
	return true, nil
}

// foldTo folds a stream up to a version.
func (r *reader) foldTo(ctx context.Context, h *history, id eventstore.StreamID, version int64) (state any, readable bool, err error) {
	category, known := fold.Named(id.Category)
	readable = known
	h.apply = func(e stored) {
		h.account = e.account
		if !readable || e.unreadable != "" {
			readable = false
			return
		}
		var failed error
		state, failed = category.FoldAny(state, eventstore.Recorded{Stream: id, Version: e.version, Position: e.position, Event: e.event})
		readable = failed == nil
	}
	const toVersionSQL = selectEvents + "stream = $1 and version <= $2 order by version"
	err = r.scan(ctx, true, func(_ string, e stored) { h.take(e) }, toVersionSQL, id.String(), version)
	return state, readable, err
}

// sameMeaning reports whether two JSON documents are equal, where an absent member, null and an empty
// value are the same.
func sameMeaning(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(withoutEmpty(x), withoutEmpty(y))
}

func withoutEmpty(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			if value = withoutEmpty(value); value == nil {
				delete(x, name)
			} else {
				x[name] = value
			}
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = withoutEmpty(x[i])
		}
		if len(x) == 0 {
			return nil
		}
	}
	return v
}
