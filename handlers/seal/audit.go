package seal

import (
	"context"
	"fmt"
	"math"

	"vqa/domain/credit"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
)

// audit compares the whole database with the anchored tree. The caller holds s.pass.
func (s *Sealer) audit(ctx context.Context) error {
	if err := s.checkTables(ctx); err != nil {
		return err
	}
	newest := s.Newest()
	known := Head{Keys: newest.Keys, Openings: newest.Openings}
	h, err := s.anchored(ctx, known) // all checkpoints are listed
	if err != nil {
		return err
	}
	if h.Signed != nil {
		known := newVersions(h.Opening.Number)
		err := s.traceAll(ctx, h, func(l translog.Leaf) {
			known.add(l.Stream, l.Version)
			known.position = l.Position
		})
		if err != nil {
			return err
		}
		s.versions = known
		if err := s.compareAnchors(ctx, h); err != nil {
			return err
		}
	}
	if s.Audit == nil {
		return nil
	}
	problem, err := s.Audit(ctx)
	if err == nil && problem != "" {
		err = &Finding{Problem: problem}
	}
	return err
}

// compareAnchors checks that each checkpoint of a log that a seal in the database follows is still anchored, with the
// digest that the seal has. It reads the database first: a checkpoint is anchored before a seal follows it. Error:
// *Finding.
func (s *Sealer) compareAnchors(ctx context.Context, h Head) error {
	for after := int64(0); ; {
		rows, err := s.Events.Raws(ctx, fold.LedgerLog.Category(), after, math.MaxInt64, page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			event, err := s.Codec.Unmarshal(r.Type, r.Data)
			if err != nil {
				return fmt.Errorf("read the seal at position %d: %w", r.Position, err)
			}
			after = r.Position
			sealed, ok := event.(credit.LogSealed)
			if !ok || sealed.Log != h.Opening.Number || sealed.PreviousSize == 0 {
				continue
			}
			if err := s.Anchors.sameCheckpoint(ctx, h.Keys, h.Opening, sealed.PreviousSize, sealed.Previous); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// compareRecent compares the records of the last bundle with their rows. Error: *Finding, which names the
// first row of the whole log that differs.
func (s *Sealer) compareRecent(ctx context.Context, h Head, records [][]byte, first int64) error {
	found, err := s.compare(ctx, records, first, 0)
	if err != nil || found == nil {
		return err
	}
	if err := s.trace(ctx, h); err != nil {
		return err
	}
	return found
}

// trace compares all records with their rows, in order. Error: *Finding for the first row that differs.
func (s *Sealer) trace(ctx context.Context, h Head) error {
	return s.traceAll(ctx, h, func(translog.Leaf) {})
}

// traceAll is trace. It calls each with each leaf that has its row.
func (s *Sealer) traceAll(ctx context.Context, h Head, each func(translog.Leaf)) error {
	files, after := Tree{s.Tiles, h.Opening.Number}, int64(0)
	for index := int64(0); index < h.Checkpoint.Size; index += translog.TileWidth {
		first, records, err := translog.ReadRecords(h.Checkpoint.Tree, files.Read(ctx), index)
		if err != nil {
			return fmt.Errorf("read the records of the log: %w", err)
		}
		found, err := s.compare(ctx, records, first, after)
		if err != nil {
			return err
		}
		if found != nil {
			return found
		}
		leaves, _ := leavesOf(records)
		for _, l := range leaves {
			each(l)
			after = l.Position
		}
	}
	return nil
}

// compare compares the records of a bundle with the rows after a position; 0 begins at its first record. It
// returns the first difference.
func (s *Sealer) compare(ctx context.Context, records [][]byte, first, after int64) (*Finding, error) {
	leaves, skipped := leavesOf(records)
	if len(leaves) == 0 {
		return nil, nil
	}
	if after == 0 && first > 0 {
		after = leaves[0].Position - 1
	}
	// One row more shows an event that was added.
	rows, err := s.Events.Raws(ctx, "", after, leaves[len(leaves)-1].Position, len(leaves)+1)
	if err != nil {
		return nil, err
	}
	for i, want := range leaves {
		if found := differs(want, first+int64(i+skipped), rows, i); found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// differs compares a leaf with its row.
func differs(want translog.Leaf, index int64, rows []postgres.Raw, i int) *Finding {
	found := func(l translog.Leaf, problem string) *Finding {
		return &Finding{Problem: problem, Stream: l.Stream, Version: l.Version, Position: l.Position}
	}
	if i >= len(rows) || rows[i].Position > want.Position {
		return found(want, fmt.Sprintf("the event of leaf %d was removed", index))
	}
	got := leafOf(rows[i])
	switch {
	case got.Position < want.Position:
		return found(got, fmt.Sprintf("the event was never sealed, although leaf %d of a later position was", index))
	case got.Stream != want.Stream || got.Version != want.Version:
		return found(want, fmt.Sprintf("the row is now version %d of stream %s, but leaf %d has another event", got.Version, got.Stream, index))
	case got.Chain != want.Chain:
		return found(want, fmt.Sprintf("the event or its history was altered: it has another hash than leaf %d", index))
	case !got.Equal(want):
		return found(want, fmt.Sprintf("recorded_at was altered: it is %s, but leaf %d has %s", got.RecordedAt, index, want.RecordedAt))
	case rows[i].Refused != nil:
		return found(want, "the service did not write this event: "+rows[i].Refused.Error())
	}
	return nil
}
