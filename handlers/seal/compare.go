package seal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
)

// Comparison compares the rows of the database with the log outside it. It only reads. The audit of the sealer, vqa
// ledger verify and vqa doctor make the same one.
type Comparison struct {
	Events Events
	Codec  *codec.Codec
	// Anchors has the checkpoints. Tiles has the records, which only name the row that differs.
	Anchors Anchors
	Tiles   Files
	// Replica says that Events reads a replica, which may not have replayed the newest rows yet.
	Replica bool
}

// Each receives the leaf of each row that is compared, with the numbers of leaves so far and in all.
type Each func(done, all int64, l translog.Leaf)

// BehindError says that the rows of a replica are the first leaves of a checkpoint, and that the others were
// missing. The replica may not have replayed them yet, or the primary lacks them, too.
type BehindError struct {
	// Next names the first row that is missing, unless the replica replayed all during the comparison.
	Next *Finding
}

// Error implements error.
func (e *BehindError) Error() string { return e.Next.Error() }

// Unwrap returns the finding.
func (e *BehindError) Unwrap() error { return e.Next }

// comparison returns the comparison that the audit makes.
func (s *Sealer) comparison() Comparison {
	return Comparison{Events: s.Events, Codec: s.Codec, Anchors: s.Anchors, Tiles: s.Tiles}
}

// Compare proves that the rows of the database begin with the leaves of the newest checkpoint, and that each
// checkpoint that a seal in the database follows is still anchored. Errors: *Finding, *BehindError, or a store cannot
// be read.
func (c Comparison) Compare(ctx context.Context, h Head, each Each) error {
	if h.Signed != nil {
		if err := c.contains(ctx, h.Opening, h.Checkpoint, h.Checkpoint.Tree, each); err != nil {
			return err
		}
	}
	return c.compareAnchors(ctx, h)
}

// Against proves that the rows of the database begin with the leaves of a checkpoint that somebody kept. It believes
// neither the tiles nor the newest checkpoint. Errors: as Compare, or no key of the log signed it.
func (c Comparison) Against(ctx context.Context, signed []byte, each Each) (kept translog.Checkpoint, err error) {
	keys, err := c.Anchors.Keys(ctx)
	if err != nil {
		return kept, err
	}
	openings, err := c.Anchors.Openings(ctx, keys)
	if err != nil {
		return kept, err
	}
	origin, _, _ := strings.Cut(string(signed), "\n")
	for i, o := range openings {
		if o.Origin != origin {
			continue
		}
		if kept, err = keys.Open(o.Number, signed); err != nil {
			return kept, err
		}
		err = c.contains(ctx, o, kept, c.extended(ctx, o, kept.Tree), each)
		if found := (*Finding)(nil); errors.As(err, &found) && i+1 < len(openings) {
			r := openings[i+1].Restart
			found.Problem += fmt.Sprintf("; log %d continues this log after a loss (%s): %s", openings[i+1].Number, r.Reason, r.Lost)
		}
		return kept, err
	}
	return kept, &Finding{Problem: fmt.Sprintf("the past is missing: no log with the origin %.200q is anchored", origin)}
}

// extended returns the newest tree of a log if it extends an older one, whose own partial tiles were removed.
func (c Comparison) extended(ctx context.Context, o translog.Opening, older translog.Tree) translog.Tree {
	h, err := c.Anchors.Head(ctx, Head{})
	if err != nil || h.Opening.Number != o.Number || h.Checkpoint.Size < older.Size {
		return older
	}
	proof, err := translog.ProveConsistency(h.Checkpoint.Tree, Tree{Cached(c.Tiles), o.Number}.Read(ctx), older.Size)
	if err != nil || translog.VerifyConsistency(older, h.Checkpoint.Tree, proof) != nil {
		return older
	}
	return h.Checkpoint.Tree
}

// contains hashes the first rows of the database and compares the root with that of a checkpoint. Only when it differs,
// the records of a tree that extends the checkpoint name the row.
func (c Comparison) contains(ctx context.Context, o translog.Opening, want translog.Checkpoint, records translog.Tree, each Each) error {
	var got translog.Fold
	if o.Restart != nil && want.Size > 0 {
		got.Add(o.Restart.Hash())
	}
	for after := int64(0); got.Size() < want.Size; {
		rows, err := c.Events.Raws(ctx, "", after, math.MaxInt64, int(min(page, want.Size-got.Size())))
		if err != nil {
			return err
		}
		for _, r := range rows {
			l := LeafOf(r)
			if r.Refused != nil {
				return Named(l, "the service did not write this event: "+r.Refused.Error())
			}
			got.Add(l.Hash())
			each(got.Size(), want.Size, l)
			after = r.Position
		}
		if len(rows) == 0 {
			break
		}
	}
	if got.Tree() == want.Tree {
		return nil
	}
	return c.differs(ctx, o.Number, want, records, got.Size())
}

// differs describes the difference between the database, which gave so many leaves, and a checkpoint. Error: *Finding,
// *BehindError.
func (c Comparison) differs(ctx context.Context, log int64, want translog.Checkpoint, records translog.Tree, gave int64) error {
	what := fmt.Sprintf("the database does not contain the %d leaves of the checkpoint", want.Size)
	if gave < want.Size {
		what = fmt.Sprintf("the past is longer: the database gives %d leaves, and the checkpoint has %d", gave, want.Size)
	}
	err := c.trace(ctx, log, records, want.Size)
	var first *Finding
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &first):
		first.Problem = what + "; the first difference: " + first.Problem
	case err != nil:
		first = &Finding{Problem: what + "; the records beside the tree cannot name the row: " + err.Error()}
	default:
		first = &Finding{Problem: what}
	}
	if !c.Replica || gave == want.Size {
		return first
	}
	if err != nil {
		later, readErr := c.Events.Raws(ctx, "", max(first.Position-1, 0), math.MaxInt64, 1)
		if readErr != nil || len(later) > 0 {
			return errors.Join(first, readErr)
		}
	}
	first.Problem = fmt.Sprintf("this replica has only the first %d of the %d leaves of the checkpoint, without a difference", gave, want.Size)
	return &BehindError{first}
}

// trace compares the first records of a tree with their rows, in order. Error: *Finding for the first row that differs.
func (c Comparison) trace(ctx context.Context, log int64, tree translog.Tree, size int64) error {
	files, after := Tree{c.Tiles, log}, int64(0)
	for index := int64(0); index < size; index += translog.TileWidth {
		first, records, err := translog.ReadRecords(tree, files.Read(ctx), index)
		if err != nil {
			return fmt.Errorf("read the records of the log: %w", err)
		}
		records = records[:min(int64(len(records)), size-first)]
		found, err := c.compare(ctx, records, first, after)
		if err != nil {
			return err
		}
		if found != nil {
			return found
		}
		if leaves, _ := leavesOf(records); len(leaves) > 0 {
			after = leaves[len(leaves)-1].Position
		}
	}
	return nil
}

// compare compares the records of a bundle with the rows after a position; 0 begins at its first record. It
// returns the first difference.
func (c Comparison) compare(ctx context.Context, records [][]byte, first, after int64) (*Finding, error) {
	leaves, skipped := leavesOf(records)
	if len(leaves) == 0 {
		return nil, nil
	}
	if after == 0 && first > 0 {
		after = leaves[0].Position - 1
	}
	// One row more shows an event that was added.
	rows, err := c.Events.Raws(ctx, "", after, leaves[len(leaves)-1].Position, len(leaves)+1)
	if err != nil {
		return nil, err
	}
	for i, want := range leaves {
		if found := difference(want, first+int64(i+skipped), rows, i); found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// difference compares a leaf with its row.
func difference(want translog.Leaf, index int64, rows []postgres.Raw, i int) *Finding {
	if i >= len(rows) || rows[i].Position > want.Position {
		return Named(want, fmt.Sprintf("the event of leaf %d was removed", index))
	}
	got := LeafOf(rows[i])
	switch {
	case got.Position < want.Position:
		return Named(got, fmt.Sprintf("the event was never sealed, although leaf %d of a later position was", index))
	case got.Stream != want.Stream || got.Version != want.Version:
		return Named(want, fmt.Sprintf("the row is now version %d of stream %s, but leaf %d has another event", got.Version, got.Stream, index))
	case got.Chain != want.Chain:
		return Named(want, fmt.Sprintf("the event or its history was altered: it has another hash than leaf %d", index))
	case !got.Equal(want):
		return Named(want, fmt.Sprintf("recorded_at was altered: it is %s, but leaf %d has %s", got.RecordedAt, index, want.RecordedAt))
	case rows[i].Refused != nil:
		return Named(want, "the service did not write this event: "+rows[i].Refused.Error())
	}
	return nil
}

// FirstDifferent returns a finding for the first of some leaves whose row is missing or another one, or nil. They are
// of one stream.
func (c Comparison) FirstDifferent(ctx context.Context, leaves []translog.Indexed) (*Finding, error) {
	for len(leaves) > 0 {
		n := min(len(leaves), page)
		wanted := make([]postgres.Place, n)
		for i, l := range leaves[:n] {
			wanted[i] = postgres.Place{Stream: l.Stream, Version: l.Version}
		}
		places, err := c.Events.Places(ctx, wanted)
		if err != nil {
			return nil, err
		}
		rows := make(map[int64]translog.Leaf, n)
		for _, place := range places {
			rows[place.Version] = LeafAt(place)
		}
		for _, l := range leaves[:n] {
			row, exists := rows[l.Version]
			switch {
			case !exists:
				return Named(l.Leaf, "the event was removed"), nil
			case row.Hash() != l.Hash():
				return Named(l.Leaf, fmt.Sprintf("the row is another one now, at position %d", row.Position)), nil
			}
		}
		leaves = leaves[n:]
	}
	return nil, nil
}

// compareAnchors checks that each checkpoint that a seal in the database follows is still anchored, with the digest that
// the seal has. Those of earlier logs may be lost: the restart says so. Error: *Finding.
func (c Comparison) compareAnchors(ctx context.Context, h Head) error {
	for after := int64(0); ; {
		rows, err := c.Events.Raws(ctx, fold.LedgerLog.Category(), after, math.MaxInt64, page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			after = r.Position
			event, err := c.Codec.Unmarshal(r.Type, r.Data)
			if errors.Is(err, eventstore.ErrUnknownEvent) {
				return fmt.Errorf("position %d: use a newer release: %w", r.Position, err)
			}
			if err != nil {
				return Named(LeafOf(r), "the seal cannot be read: "+err.Error())
			}
			if sealed, ok := event.(credit.LogSealed); ok {
				if err := c.compareAnchor(ctx, &h, sealed); err != nil {
					return err
				}
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// compareAnchor checks the checkpoint that a seal follows. A checkpoint is anchored before a seal follows it, so h is
// read again when the seal is of a log that began meanwhile.
func (c Comparison) compareAnchor(ctx context.Context, h *Head, sealed credit.LogSealed) (err error) {
	if sealed.Log > h.Opening.Number {
		if *h, err = c.Anchors.Head(ctx, Head{}); err != nil {
			return err
		}
		if sealed.Log > h.Opening.Number {
			return removed(sealed.Log, sealed.PreviousSize)
		}
	}
	if sealed.Log < h.Opening.Number || sealed.PreviousSize == 0 {
		return nil
	}
	return c.Anchors.sameCheckpoint(ctx, h.Keys, h.Opening, sealed.PreviousSize, sealed.Previous)
}
