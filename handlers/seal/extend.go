package seal

import (
	"context"
	"fmt"
	"math"

	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
)

// extend examines the rows up to a position, at most so many, and appends them to the tree.
func (st *state) extend(ctx context.Context, upTo, most int64) error {
	for most > 0 && st.position < upTo {
		limit := min(int64(page), most)
		rows, err := st.Events.Raws(ctx, "", st.position, upTo, int(limit))
		if err != nil {
			return err
		}
		if err := st.take(ctx, rows); err != nil {
			return err
		}
		if int64(len(rows)) < limit {
			return nil
		}
		most -= int64(len(rows))
	}
	return nil
}

// all is the limit of extend that means every row.
const all = math.MaxInt64

// take examines rows and appends them to the tree.
func (st *state) take(ctx context.Context, rows []postgres.Raw) error {
	if len(rows) == 0 {
		return nil
	}
	if err := st.recall(ctx, rows); err != nil {
		return err
	}
	records, hashes := make([][]byte, len(rows)), make([]translog.Hash, len(rows))
	touched := map[string]bool{}
	for i, r := range rows {
		if err := st.meet(r); err != nil {
			return err
		}
		if isBusiness(r) {
			st.business++
		}
		if r.Stream.Category == fold.Credit.Category() {
			if err := st.book(r); err != nil {
				return err
			}
			touched[r.Stream.ID], st.moved[r.Stream.ID] = true, true
		} else {
			problem := follows(st.heads[r.Stream.String()], r)
			if problem == "" {
				problem = st.versions.sealed(st.files.Log, r)
			}
			if problem != "" {
				return Named(LeafOf(r), problem)
			}
			st.heads[r.Stream.String()] = head{r.Version, r.Chain}
			if st.versions != nil {
				st.fresh[r.Stream.String()] = r.Version
			}
		}
		records[i] = LeafOf(r).Record()
		hashes[i] = translog.HashRecord(records[i])
	}
	st.leaf(touched)
	st.position = rows[len(rows)-1].Position
	return st.grow(ctx, records, hashes)
}

// grow appends leaves and writes their tiles and records.
func (st *state) grow(ctx context.Context, records [][]byte, hashes []translog.Hash) error {
	bundles, err := translog.Bundles(st.tree.Size, st.last, records)
	if err != nil {
		return err
	}
	tree, tiles, err := translog.Grow(st.tree, st.files.Read(ctx), hashes)
	if err != nil {
		return fmt.Errorf("extend the tree of %d leaves: %w", st.tree.Size, err)
	}
	if err := st.files.write(ctx, append(bundles, tiles...)); err != nil {
		return err
	}
	last := append(st.last[:len(st.last):len(st.last)], records...)
	st.tree, st.last = tree, last[len(last)-int(tree.Size%translog.TileWidth):]
	return nil
}

// recall loads the heads of streams that the sealer does not remember, and checks that they are in the
// tree. The place of a head is the event before the first new one of its stream.
func (st *state) recall(ctx context.Context, rows []postgres.Raw) error {
	if len(st.heads) > mostHeads {
		clear(st.heads)
	}
	var wanted []postgres.Place
	met := map[string]bool{}
	for _, r := range rows {
		name := r.Stream.String()
		first := !met[name]
		met[name] = true
		_, known := st.heads[name]
		if !first || known || r.Stream.Category == fold.Credit.Category() || r.Version == 1 {
			continue
		}
		wanted = append(wanted, postgres.Place{Stream: name, Version: r.Version - 1})
	}
	if len(wanted) == 0 {
		return nil
	}
	places, err := st.Events.Places(ctx, wanted)
	if err != nil {
		return err
	}
	files := Tree{Cached(st.files.Files), st.files.Log}
	for _, p := range places {
		index, leaf, found, err := files.Locate(ctx, st.tree, p.Position)
		if err != nil {
			return err
		}
		if !found || !leaf.Equal(LeafAt(p)) {
			return Named(LeafAt(p), fmt.Sprintf("the row is not the one that was sealed as leaf %d, or it was never sealed", index))
		}
		st.heads[p.Stream] = head{p.Version, p.Chain}
	}
	return nil
}

// compareStates compares the stored states of the accounts that moved with the folded ones.
func (st *state) compareStates(ctx context.Context) error {
	streams := make([]eventstore.StreamID, 0, len(st.moved))
	for id := range st.moved {
		streams = append(streams, fold.Credit.Stream(id))
	}
	for len(streams) > 0 {
		n := min(len(streams), statesPage)
		histories, err := st.Events.Load(ctx, streams[:n]...)
		if err != nil {
			return err
		}
		for id, h := range histories {
			if err := st.compareState(id, h); err != nil {
				return err
			}
		}
		streams = streams[n:]
	}
	return nil
}

// statesPage is the number of states that are read at once.
const statesPage = 200

func (st *state) compareState(id eventstore.StreamID, h eventstore.History) error {
	l := st.ledgers[id.ID]
	if h.Snapshot == nil || h.SnapshotVersion > l.version {
		return nil // the next pass compares it
	}
	var events []eventstore.Recorded
	for _, e := range h.Events {
		if e.Version <= l.version {
			events = append(events, e)
		}
	}
	h.Events = events
	stored, err := fold.Credit.Restore(h)
	if err != nil {
		return nil //nolint:nilerr // another release made it, and no command uses it as it is
	}
	if stored.PostedSeconds != l.PostedSeconds || stored.HeldSeconds != l.HeldSeconds || stored.Totals != l.Totals {
		return &Finding{
			Stream: id.String(), Version: h.SnapshotVersion,
			Problem: fmt.Sprintf("the stored state has %d s posted and %d s held, but its events sum to %d s and %d s",
				stored.PostedSeconds, stored.HeldSeconds, l.PostedSeconds, l.HeldSeconds),
		}
	}
	return nil
}
