package projections

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
)

// Snapshots compares the stored snapshots with the folds of their events.
type Snapshots struct {
	// Compared is the number of snapshots compared, and Differing that of those that differ.
	Compared  int64 `json:"compared"`
	Differing int64 `json:"differing"`
	// OtherShape is the number of snapshots that this program does not use, because another release
	// made them from a state of another shape. They are not compared.
	OtherShape int64 `json:"other_shape,omitempty"`
	// Examples are the first differing snapshots by the name of their stream, at most ten.
	Examples []SnapshotDifference `json:"examples,omitempty"`
}

// SnapshotDifference names a snapshot that is not the fold of its events.
type SnapshotDifference struct {
	Stream string `json:"stream"`
	// Version is the version of the stream that the snapshot claims to be at.
	Version int64 `json:"version"`
	// Fields are the members that differ. Live is the value of the snapshot.
	Fields []FieldDifference `json:"fields,omitempty"`
}

const (
	// snapshotPage is the number of snapshots that are in memory at once, each with the state of its
	// stream.
	snapshotPage = 50
	// snapshotExamples bounds the examples of a certificate.
	snapshotExamples = 10
)

// storedSnapshot is a snapshot with the fold of its stream up to its version.
type storedSnapshot struct {
	stream
	at   int64
	text []byte
}

// usable reports whether this program uses the snapshot. A newer release may have other categories.
func (s *storedSnapshot) usable() bool { return s.category != nil && s.category.SameShape(s.text) }

// compareSnapshots compares each snapshot of this program's shape with the fold of its events. Events
// never change, and those of a snapshot are committed with it. So it needs no common view of all
// streams, and blocks nothing.
func (w *work) compareSnapshots(ctx context.Context) (*Snapshots, error) {
	result := &Snapshots{}
	var done, total int64
	err := w.side.QueryRow(ctx, "select coalesce(sum(snapshot_version), 0) from public.streams where snapshot is not null and "+
		w.ofCategories()).Scan(&total)
	if err != nil {
		return nil, err
	}
	w.report(VerifyingSnapshots, 0, total)
	for after := ""; ; {
		page, err := w.snapshotPage(ctx, after)
		if err != nil || len(page) == 0 {
			return result, err
		}
		after = page[len(page)-1].name
		if err := w.foldSnapshots(ctx, page); err != nil {
			return nil, err
		}
		for _, s := range page {
			done += s.at
			if err := w.judge(s, result); err != nil {
				return nil, err
			}
		}
		w.report(VerifyingSnapshots, done, total)
	}
}

// snapshotPage reads the next snapshots by the name of their stream.
func (w *work) snapshotPage(ctx context.Context, after string) ([]*storedSnapshot, error) {
	rows, err := w.side.Query(ctx, "select stream, snapshot_version, snapshot::text from public.streams where stream > $1 and snapshot is not null and "+
		w.ofCategories()+" order by stream limit $2", after, snapshotPage)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*storedSnapshot, error) {
		s := &storedSnapshot{}
		var name string
		if err := row.Scan(&name, &s.at, &s.text); err != nil {
			return nil, err
		}
		if s.stream, err = w.open(name); err != nil {
			s.stream = stream{name: name} // of a category that this program does not know
		}
		return s, nil
	})
}

// foldSnapshots folds the streams of the snapshots of this program's shape, each up to the version of
// its snapshot.
func (w *work) foldSnapshots(ctx context.Context, page []*storedSnapshot) error {
	of := map[string]*storedSnapshot{}
	var names []string
	var versions []int64
	for _, s := range page {
		if s.usable() {
			of[s.name], names, versions = s, append(names, s.name), append(versions, s.at)
		}
	}
	r := reader{decode: w.Decode, unreadable: &w.unreadable}
	return pgx.BeginTxFunc(ctx, w.side, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		// The lateral join reads each stream through its index. A plain join could scan the log.
		_, err := r.read(ctx, tx, `
			select e.stream, e.version, e.position, e.type, e.data
			  from unnest($1::text[], $2::bigint[]) as n(stream, version)
			 cross join lateral (select * from public.events where stream = n.stream and version <= n.version order by version offset 0) as e`,
			[]any{names, versions}, func(name []byte, events []eventstore.Recorded) error {
				return of[string(name)].fold(events)
			})
		return err
	})
}

// judge compares a snapshot with the fold of its events, byte for byte.
func (w *work) judge(s *storedSnapshot, result *Snapshots) error {
	switch {
	case !s.usable():
		result.OtherShape++
		return nil
	case w.unreadable.has([]byte(s.name)):
		return nil // the certificate names the stream
	}
	result.Compared++
	folded, err := s.category.FoldAny(s.state) // the state before the first event when there are none
	if err != nil {
		return err
	}
	want, err := s.category.Snapshot(folded)
	if err != nil {
		return fmt.Errorf("stream %s: %w", s.name, err)
	}
	if s.version == s.at && bytes.Equal(s.text, want) {
		return nil
	}
	if result.Differing++; result.Differing > snapshotExamples {
		return nil
	}
	fields, err := fieldDifferences(s.text, want)
	if err != nil {
		return fmt.Errorf("the snapshot of stream %s: %w", s.name, err)
	}
	result.Examples = append(result.Examples, SnapshotDifference{s.name, s.at, fields})
	return nil
}
