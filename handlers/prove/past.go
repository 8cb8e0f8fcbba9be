package prove

import (
	"context"
	"fmt"
	"math"
	"strings"

	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

// page is the number of rows that are read at once: a multiple of translog.TileWidth.
const page = 16 * translog.TileWidth

// BehindError says that the rows of a replica are the first leaves of a checkpoint, and that the others were
// missing. The replica may not have replayed them yet, or the primary lacks them, too.
type BehindError struct {
	// Next names the first row that is missing, unless the replica replayed all during the comparison.
	Next *seal.Finding
}

// Error implements error.
func (e *BehindError) Error() string { return e.Next.Error() }

// Unwrap returns the finding.
func (e *BehindError) Unwrap() error { return e.Next }

// Contains proves that the rows of the database begin with the tree of a signed checkpoint. It hashes the
// rows, and calls progress with the number of leaves so far and in all. Errors: *seal.Finding when the past
// is missing, shorter or another one; it names the first row that differs when the files of the log have its
// record. A *BehindError is a finding, too.
func (p *Prover) Contains(ctx context.Context, signed []byte, progress func(done, all int64)) (translog.Checkpoint, error) {
	keys, err := p.Anchors.Keys(ctx)
	if err != nil {
		return translog.Checkpoint{}, err
	}
	openings, err := p.Anchors.Openings(ctx, keys)
	if err != nil {
		return translog.Checkpoint{}, err
	}
	origin, _, _ := strings.Cut(string(signed), "\n")
	for i, o := range openings {
		if o.Origin != origin {
			continue
		}
		c, err := keys.Open(o.Number, signed)
		if err != nil {
			return c, err
		}
		tree, err := p.hash(ctx, o, c.Size, progress)
		if err != nil || tree == c.Tree {
			return c, err
		}
		found, cut, err := p.differs(ctx, o, c, tree.Size)
		if err != nil {
			return c, err
		}
		if i+1 < len(openings) {
			r := openings[i+1].Restart
			found.Problem += fmt.Sprintf("; log %d continues this log after a loss (%s): %s", openings[i+1].Number, r.Reason, r.Lost)
		}
		if cut && p.Replica {
			return c, &BehindError{found}
		}
		return c, found
	}
	return translog.Checkpoint{}, &seal.Finding{Problem: fmt.Sprintf("the past is missing: no log with the origin %.200q is anchored", origin)}
}

// hash returns the tree over the first leaves that the rows of the database give.
func (p *Prover) hash(ctx context.Context, o translog.Opening, size int64, progress func(done, all int64)) (translog.Tree, error) {
	tiles := map[string][]byte{}
	read := func(path string) ([]byte, error) {
		data, ok := tiles[path]
		if !ok {
			return nil, fmt.Errorf("no tile %s", path)
		}
		return data, nil
	}
	tree, after := translog.EmptyTree(), int64(0)
	var leaves []translog.Hash
	if o.Restart != nil && size > 0 {
		leaves = append(leaves, o.Restart.Hash())
	}
	for tree.Size+int64(len(leaves)) <= size {
		rows, err := p.Rows.Raws(ctx, "", after, math.MaxInt64, int(min(page-int64(len(leaves)), size-tree.Size-int64(len(leaves)))))
		if err != nil {
			return tree, err
		}
		for _, r := range rows {
			leaves, after = append(leaves, rawLeaf(r).Hash()), r.Position
		}
		grown, added, err := translog.Grow(tree, read, leaves)
		if err != nil {
			return tree, err
		}
		for _, t := range added {
			tiles[t.Path] = t.Data
		}
		tree, leaves = grown, nil
		progress(tree.Size, size)
		if len(rows) == 0 || tree.Size == size {
			break
		}
	}
	return tree, nil
}

func rawLeaf(r postgres.Raw) translog.Leaf {
	return translog.Leaf{Position: r.Position, RecordedAt: r.RecordedAt, Stream: r.Stream.String(), Version: r.Version, Chain: r.Chain}
}

// differs names the first row that is not the leaf that the checkpoint covers. size is the number of leaves
// that the database gives. cut is true when each of them is the one of the checkpoint, and only later ones are
// missing.
func (p *Prover) differs(ctx context.Context, o translog.Opening, c translog.Checkpoint, size int64) (found *seal.Finding, cut bool, err error) {
	what := fmt.Sprintf("the database does not contain the %d leaves of the checkpoint", c.Size)
	if size < c.Size {
		what = fmt.Sprintf("the past is longer: the database gives %d leaves, and the checkpoint has %d", size, c.Size)
	}
	files, tree := seal.Tree{Files: seal.Cached(p.Tiles), Log: o.Number}, c.Tree
	if h, err := p.Head(ctx); err == nil && h.Opening.Number == o.Number && h.Checkpoint.Size >= c.Size {
		proof, err := translog.ProveConsistency(h.Checkpoint.Tree, files.Read(ctx), c.Size)
		if err != nil || translog.VerifyConsistency(c.Tree, h.Checkpoint.Tree, proof) != nil {
			return &seal.Finding{Problem: what + "; the log that is anchored today is another one, too, so its records cannot name the row"}, false, nil
		}
		tree = h.Checkpoint.Tree
	}
	after := int64(0)
	for index := int64(0); index < c.Size; index += translog.TileWidth {
		first, records, err := translog.ReadRecords(tree, files.Read(ctx), index)
		if err != nil {
			return &seal.Finding{Problem: what + "; the records beside the tree cannot name the row: " + err.Error()}, false, nil
		}
		rows, err := p.Rows.Raws(ctx, "", after, math.MaxInt64, len(records))
		if err != nil {
			return nil, false, err
		}
		for i, record := range records[:min(int64(len(records)), c.Size-first)] {
			want, err := translog.ParseLeaf(record)
			if err != nil {
				continue // the first leaf after a restart is not an event
			}
			if len(rows) == 0 {
				return p.lacks(want, what, first+int64(i), c.Size), true, nil
			}
			if got := rawLeaf(rows[0]); got.Hash() != want.Hash() {
				return named(want, fmt.Sprintf("%s; leaf %d is the first that differs: its row is now position %d, version %d of %s",
					what, first+int64(i), got.Position, got.Version, got.Stream)), false, nil
			}
			after, rows = rows[0].Position, rows[1:]
		}
	}
	if p.Replica && size < c.Size {
		return &seal.Finding{Problem: "this replica replayed the last leaves of the checkpoint during the comparison"}, true, nil
	}
	return &seal.Finding{Problem: what}, false, nil
}

// lacks returns the finding that no row is left for a leaf of a checkpoint with size leaves.
func (p *Prover) lacks(l translog.Leaf, what string, index, size int64) *seal.Finding {
	if p.Replica {
		return named(l, fmt.Sprintf("this replica has only the first %d of the %d leaves of the checkpoint, without a difference", index, size))
	}
	return named(l, fmt.Sprintf("%s; the event of leaf %d was removed", what, index))
}

// FirstDifferent returns a finding for the first of some leaves whose row is missing or another one, or nil.
func (p *Prover) FirstDifferent(ctx context.Context, leaves []translog.Indexed) (*seal.Finding, error) {
	for len(leaves) > 0 {
		n := min(len(leaves), page)
		wanted := make([]postgres.Place, n)
		for i, l := range leaves[:n] {
			wanted[i] = postgres.Place{Stream: l.Stream, Version: l.Version}
		}
		places, err := p.Rows.Places(ctx, wanted)
		if err != nil {
			return nil, err
		}
		rows := make(map[int64]translog.Leaf, n)
		for _, place := range places {
			rows[place.Version] = leafOf(place)
		}
		for _, l := range leaves[:n] {
			row, found := rows[l.Version]
			switch {
			case !found:
				return named(l.Leaf, "the event was removed"), nil
			case row.Hash() != l.Hash():
				return named(l.Leaf, fmt.Sprintf("the row is another one now, at position %d", row.Position)), nil
			}
		}
		leaves = leaves[n:]
	}
	return nil, nil
}

func named(l translog.Leaf, problem string) *seal.Finding {
	return &seal.Finding{Problem: problem, Stream: l.Stream, Version: l.Version, Position: l.Position}
}
