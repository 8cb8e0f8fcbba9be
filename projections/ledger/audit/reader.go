package audit

import (
	"context"

	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// reader verifies pieces of the log through one connection.
type reader struct {
	scanner
	sizes
	tables []table
	report Report
	// made are the rows that were not compared yet, and explained the hashes of the ids of all others, by table.
	made      [][]madeRow
	explained [][]uint64
	// damaged has the ids and the accounts of the damaged streams.
	damaged map[string]bool
	// snapshots is the number of snapshots whose MAC was checked.
	snapshots int64
	// done is called with the number of verified events.
	done func(events int64)
}

// verify verifies the streams of a piece.
func (r *reader) verify(ctx context.Context, p piece) error {
	streams := make(map[string]*history, len(p.heads))
	for _, h := range p.heads {
		made, err := r.history(h)
		if err != nil {
			return err
		}
		streams[h.stream] = made
	}
	var current *history
	take := func(e stored) (err error) {
		if current == nil || current.head.stream != r.name {
			var known bool
			if current, known = streams[r.name]; !known {
				if current, err = r.history(head{stream: r.name, version: noHead}); err != nil {
					return err
				}
				streams[r.name] = current
			}
		}
		r.take(current, e)
		return nil
	}
	for after, version, n := p.after, p.version, r.page; n == r.page; {
		var err error
		if n, err = r.scan(ctx, after, version, p.to, r.page, take); err != nil {
			return err
		}
		if err := r.compare(ctx); err != nil {
			return err
		}
		r.done(int64(n))
		if current != nil {
			after, version = current.head.stream, current.version
		}
	}
	for _, h := range streams {
		if err := r.finish(ctx, h); err != nil {
			return err
		}
	}
	return r.compare(ctx)
}

func (r *reader) history(h head) (*history, error) {
	id, err := codec.ParseStreamID(h.stream)
	if err != nil {
		return nil, err
	}
	made := &history{head: h, id: id, report: &r.report}
	if id.Category == fold.Credit.Category() {
		made.account = id.ID
	}
	made.category, _ = fold.Named(id.Category)
	for i, t := range r.tables {
		if t.Category().Category() == id.Category {
			made.tables = append(made.tables, i)
		}
	}
	return made, nil
}

// take verifies the next event of a stream. Damage makes the state unknown, so nothing is compared with it any more.
func (r *reader) take(h *history, e stored) {
	h.follow(e)
	if r.macs != nil && h.head.snapshot.version == h.version {
		h.checkSnapshot(r.macs)
		r.snapshots++
	}
	if h.category == nil || h.damaged {
		return
	}
	if h.fold(e); !h.damaged {
		r.madeBy(h, e)
	}
}

// finish verifies what a whole stream shows, and counts it.
func (r *reader) finish(ctx context.Context, h *history) error {
	h.end()
	ledger := h.id.Category == fold.Credit.Category()
	if h.taken > 0 {
		r.report.Streams++
		r.report.Events += h.taken
		if ledger {
			r.report.Accounts++
			r.report.Entries += h.taken
		}
	}
	if h.damaged {
		r.damaged[h.account], r.damaged[h.id.ID] = true, true
		return nil
	}
	if h.category == nil || h.taken == 0 {
		return nil
	}
	if ledger {
		if err := r.checkRefunds(ctx, h); err != nil {
			return err
		}
	}
	return r.madeFrom(h)
}
