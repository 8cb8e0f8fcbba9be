package seal

import (
	"context"
	"errors"
	"fmt"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
)

const (
	// page is the number of rows that are read at once: a multiple of translog.TileWidth.
	page = 16 * translog.TileWidth
	// mostHeads bounds the remembered heads of streams that are not ledgers.
	mostHeads = 100_000
)

// head is the newest event of a stream.
type head struct {
	version int64
	chain   eventstore.Chain
}

// ledger is the state of an account.
type ledger struct {
	credit.State
	head
}

// state is what the sealer knows of a tree that grows.
type state struct {
	*Sealer
	files Tree
	// signed is the anchored tree that the others extend.
	signed translog.Tree
	// tree has the leaves up to position, and last the records of its last bundle, if that is partial.
	tree     translog.Tree
	position int64
	last     [][]byte

	ledgers  map[string]*ledger
	accounts translog.AccountTree
	heads    map[string]head
	// moved are the accounts with new events, and business counts the new events that are not the
	// sealer's own.
	moved    map[string]bool
	business int
	// fresh has the newest version of each stream that is not signed yet.
	fresh map[string]int64
	// outdated are the last checkpoints whose partial tiles still exist, oldest first.
	outdated []outdated
}

func (s *Sealer) newState(h Head) *state {
	st := &state{
		Sealer: s, files: Tree{s.Tiles, h.Opening.Number}, signed: translog.EmptyTree(), tree: translog.EmptyTree(),
		ledgers: map[string]*ledger{}, heads: map[string]head{}, moved: map[string]bool{}, fresh: map[string]int64{},
	}
	return st
}

// open returns the state at an anchored checkpoint. It folds the ledgers and compares them with the account
// tree that the checkpoint covers.
func (s *Sealer) open(ctx context.Context, h Head) (*state, error) {
	st := s.newState(h)
	if h.Signed == nil {
		return st, st.begin(ctx, h.Opening)
	}
	first, records, err := translog.ReadRecords(h.Checkpoint.Tree, st.files.Read(ctx), h.Checkpoint.Size-1)
	if err != nil {
		return nil, fmt.Errorf("read the newest records of the log: %w", err)
	}
	end, err := translog.ParseLeaf(records[len(records)-1])
	if err != nil {
		return nil, &Finding{Problem: fmt.Sprintf("the last leaf of the checkpoint of size %d is not an event", h.Checkpoint.Size)}
	}
	if err := s.compareRecent(ctx, h, records, first); err != nil {
		return nil, err
	}
	sealed, err := s.sealAt(ctx, end)
	if err != nil {
		return nil, err
	}
	if err := st.foldLedgers(ctx, 0, sealed.Position); err != nil {
		return nil, err
	}
	if got := st.accounts.Tree(); got.Root.String() != sealed.AccountRoot || got.Size != sealed.Accounts {
		if err := s.trace(ctx, h); err != nil {
			return nil, err
		}
		return nil, &Finding{Problem: fmt.Sprintf("the ledgers up to position %d do not have the account root of the seal at position %d", sealed.Position, end.Position)}
	}
	if err := st.foldLedgers(ctx, sealed.Position, end.Position); err != nil {
		return nil, err
	}
	st.signed, st.tree, st.position = h.Checkpoint.Tree, h.Checkpoint.Tree, end.Position
	if len(records) < translog.TileWidth {
		st.last = records
	}
	return st, nil
}

// begin adds the first leaf of a log that continues another one.
func (st *state) begin(ctx context.Context, o translog.Opening) error {
	if o.Restart == nil {
		return nil
	}
	return st.grow(ctx, [][]byte{o.Restart.Record()}, []translog.Hash{o.Restart.Hash()})
}

// sealAt reads the ledger.sealed of a leaf.
func (s *Sealer) sealAt(ctx context.Context, leaf translog.Leaf) (credit.LogSealed, error) {
	rows, err := s.Events.Raws(ctx, "", leaf.Position-1, leaf.Position, 1)
	if err != nil {
		return credit.LogSealed{}, err
	}
	wrong := Named(leaf, "the last leaf of the newest checkpoint is not the seal that it was")
	if len(rows) != 1 || LeafOf(rows[0]) != leaf {
		return credit.LogSealed{}, wrong
	}
	event, err := s.Codec.Unmarshal(rows[0].Type, rows[0].Data)
	if err != nil {
		return credit.LogSealed{}, err
	}
	sealed, ok := event.(credit.LogSealed)
	if !ok {
		return credit.LogSealed{}, wrong
	}
	places, err := s.Events.Places(ctx, []postgres.Place{{Stream: leaf.Stream, Version: leaf.Version - 1}})
	if err != nil {
		return credit.LogSealed{}, err
	}
	var before eventstore.Chain
	if len(places) == 1 {
		before = places[0].Chain
	}
	if codec.Link(before, rows[0].Encoded) != rows[0].Chain {
		return credit.LogSealed{}, wrong
	}
	return sealed, nil
}

// foldLedgers folds the ledger events in a range of positions, and examines each.
func (st *state) foldLedgers(ctx context.Context, after, upTo int64) error {
	for after < upTo {
		rows, err := st.Events.Raws(ctx, fold.Credit.Category(), after, upTo, page)
		if err != nil {
			return err
		}
		touched := map[string]bool{}
		for _, r := range rows {
			if err := st.book(r); err != nil {
				return err
			}
			touched[r.Stream.ID] = true
		}
		st.leaf(touched)
		if len(rows) < page {
			return nil
		}
		after = rows[len(rows)-1].Position
	}
	return nil
}

// book examines one event of a ledger and folds it.
func (st *state) book(r postgres.Raw) error {
	found := func(problem string) error { return Named(LeafOf(r), problem) }
	l := st.ledgers[r.Stream.ID]
	if l == nil {
		l = &ledger{State: credit.State{AccountID: r.Stream.ID}}
		st.ledgers[r.Stream.ID] = l
	}
	if problem := follows(l.head, r); problem != "" {
		return found(problem)
	}
	event, err := st.Codec.Unmarshal(r.Type, r.Data)
	if errors.Is(err, eventstore.ErrUnknownEvent) {
		return fmt.Errorf("position %d: a newer release must seal the ledger: %w", r.Position, err)
	}
	if err != nil {
		return found("the event cannot be read: " + err.Error())
	}
	entry, ok := event.(credit.Event)
	if !ok {
		return found(r.Type + " is not a ledger event")
	}
	if problem := credit.Examine(l.State, r.Stream.ID, entry); problem != "" {
		return found(problem)
	}
	l.State, l.head = fold.Credit.Evolve(l.State, entry), head{r.Version, r.Chain}
	return nil
}

// follows returns the problem of an event that does not follow the head of its stream, or "".
func follows(h head, r postgres.Raw) string {
	switch {
	case r.Refused != nil:
		return "the service did not write this event: " + r.Refused.Error()
	case r.Version != h.version+1:
		return fmt.Sprintf("the event has version %d, but version %d comes next", r.Version, h.version+1)
	case codec.Link(h.chain, r.Encoded) != r.Chain:
		return "the hash does not match the event and the hash before it: this event was altered, or the one before it was altered and hashed again"
	}
	return ""
}

// leaf puts the leaves of accounts.
func (st *state) leaf(ids map[string]bool) {
	var leaves []translog.Account
	for id := range ids {
		l := st.ledgers[id]
		t := l.Totals
		leaves = append(leaves, translog.Account{
			ID: id, Version: l.version, Chain: l.chain, PostedSeconds: l.PostedSeconds, HeldSeconds: l.HeldSeconds,
			Totals: [6]int64{t.Grants, t.CardGrants, t.Sales, t.Adjustments, t.AnalysisUsage, t.StreamUsage},
		})
	}
	st.accounts.Put(leaves...)
}

// totals returns the sums over all accounts.
func (st *state) totals() translog.Account {
	var sum translog.Account
	for _, l := range st.ledgers {
		sum.PostedSeconds += l.PostedSeconds
		sum.HeldSeconds += l.HeldSeconds
		t := l.Totals
		for i, n := range []int64{t.Grants, t.CardGrants, t.Sales, t.Adjustments, t.AnalysisUsage, t.StreamUsage} {
			sum.Totals[i] += n
		}
	}
	return sum
}

// LeafOf returns the leaf of a row.
func LeafOf(r postgres.Raw) translog.Leaf {
	return translog.Leaf{Position: r.Position, RecordedAt: r.RecordedAt, Stream: r.Stream.String(), Version: r.Version, Chain: r.Chain}
}

// isBusiness reports whether an event is not the sealer's own.
func isBusiness(r postgres.Raw) bool {
	switch r.Stream.Category {
	case fold.LedgerLog.Category(), fold.LedgerKeys.Category():
		return false
	}
	return true
}
