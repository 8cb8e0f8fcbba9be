package seal

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/translog"
	"vqa/handlers/anchor"
)

// ErrNotApproved says that the key of this node is not the current key of the log.
var ErrNotApproved = errors.New("the key of this node is not the one that seals the ledger. Restore ledger.key of the node that does, or approve this key with: vqa ledger keys rotate")

// ErrRival says that another node sealed at the same moment. The next pass follows it.
var ErrRival = errors.New("another node seals the ledger at this moment")

// once makes one pass. The caller holds s.pass.
func (s *Sealer) once(ctx context.Context) (sealed bool, err error) {
	h, err := s.readHead(ctx)
	if err != nil {
		return false, err
	}
	if err := s.checkTables(ctx); err != nil {
		return false, err
	}
	if !s.PublicKey().Equal(h.Keys.Current) {
		return false, s.watch(ctx, h)
	}
	if err := s.Commands.AddLedgerKey(ctx, s.PublicKey()); err != nil {
		return false, fmt.Errorf("publish the key: %w", err)
	}
	if h, err = s.cosign(ctx, h); err != nil {
		return false, err
	}
	st, unsettled, err := s.examine(ctx, h)
	if err != nil {
		return false, err
	}
	if st.business == 0 {
		return false, errors.Join(unsettled, st.acknowledge(ctx, h))
	}
	if err := st.compareStates(ctx); err != nil {
		return false, err
	}
	if err := s.checkQuorum(h); err != nil {
		return false, err
	}
	if err := st.appendSeal(ctx, h); err != nil {
		return false, err
	}
	if h, err = s.sign(ctx, h, st); err != nil {
		return false, err
	}
	if err := st.acknowledge(ctx, h); err != nil {
		return true, err
	}
	_, err = s.cosign(ctx, h)
	return true, errors.Join(unsettled, err)
}

// examine appends the settled rows to the tree, and then demands those of this node. unsettled is nil or an
// ErrUnsettled.
func (s *Sealer) examine(ctx context.Context, h Head) (st *state, unsettled, err error) {
	if st, err = s.upToDate(ctx, h); err != nil {
		return nil, nil, err
	}
	s.state = st
	settled, err := s.Events.Settled(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.remember(h) // now, so that the rows meet almost all of them
	if err := st.extend(ctx, settled, all); err != nil {
		return nil, nil, err
	}
	if err = st.demand(ctx); errors.Is(err, ErrUnsettled) {
		return st, err, nil
	}
	return st, nil, err
}

// readHead reads the newest state of the anchors, and begins the log at the first start.
func (s *Sealer) readHead(ctx context.Context) (Head, error) {
	h, err := s.anchored(ctx, s.Newest())
	if err != nil {
		return h, err
	}
	if h.Opening.Number == 0 {
		if err := s.first(ctx, h.Keys); err != nil {
			return h, err
		}
		if h, err = s.Anchors.Head(ctx, Head{}); err != nil {
			return h, err
		}
	}
	s.mu.Lock()
	s.head = h
	s.mu.Unlock()
	return h, nil
}

// anchored reads the newest state of the anchors. They must have the checkpoint that the newest seal in the
// database follows. The database is read first: that checkpoint was anchored before its seal was appended, and
// another node may anchor a newer one and append the next seal at any moment.
func (s *Sealer) anchored(ctx context.Context, known Head) (Head, error) {
	log, err := s.Commands.LedgerLog(ctx)
	if err != nil {
		return Head{}, err
	}
	h, err := s.Anchors.Head(ctx, known)
	if err != nil {
		return h, err
	}
	last := log.Last
	switch same := h.Opening.Number == last.Log; {
	case last.Log > 0 && (h.Opening.Number < last.Log || same && h.Checkpoint.Size < last.PreviousSize):
		return h, removed(last.Log, last.PreviousSize)
	case same && last.PreviousSize > 0 && (h.Checkpoint.Size > last.PreviousSize || h.Checkpoint.Digest() != last.Previous):
		return h, s.Anchors.sameCheckpoint(ctx, h.Keys, h.Opening, last.PreviousSize, last.Previous)
	}
	return h, nil
}

// first pins the key of this node and opens log 1. Of several nodes that start together, one pins its key.
func (s *Sealer) first(ctx context.Context, keys translog.Keys) error {
	if keys.Current == nil {
		pin := keys.Next(translog.Pin, s.PublicKey())
		pin.Log, pin.Reason, pin.Actor, pin.At = 1, "the first start", "system:sealer", s.Now()
		signed, err := pin.Sign(s.Key)
		if err != nil {
			return err
		}
		if _, err := translog.ReadKeys([][]byte{signed}, s.Anchors.Pins...); err != nil {
			return ErrNotApproved
		}
		if err := s.Anchors.Files.Create(ctx, keyName(1), signed); err != nil && !errors.Is(err, anchor.ErrExists) {
			return err
		}
		if keys, err = s.Anchors.Keys(ctx); err != nil {
			return err
		}
	}
	if !s.PublicKey().Equal(keys.Current) {
		return ErrNotApproved
	}
	opening, err := translog.Opening{Number: 1, Origin: s.Origin}.Sign(s.Key)
	if err != nil {
		return err
	}
	if err := s.Anchors.Files.Create(ctx, logName(logsFolder, 1), opening); err != nil && !errors.Is(err, anchor.ErrExists) {
		return err
	}
	return nil
}

// watch is the pass of a node without the current key. It demands the events of this node in the tree that another node
// has signed. Errors: *Finding, ErrUnsettled, or ErrNotApproved when no other node seals.
func (s *Sealer) watch(ctx context.Context, h Head) error {
	s.remember(h)
	st := s.newState(h)
	if h.Signed != nil {
		_, records, err := translog.ReadRecords(h.Checkpoint.Tree, st.files.Read(ctx), h.Checkpoint.Size-1)
		if err != nil {
			return fmt.Errorf("read the newest records of the log: %w", err)
		}
		if end, err := translog.ParseLeaf(records[len(records)-1]); err == nil {
			st.tree, st.position = h.Checkpoint.Tree, end.Position
		}
	}
	unsettled := st.demand(ctx)
	if unsettled != nil && !errors.Is(unsettled, ErrUnsettled) {
		return unsettled
	}
	log, err := s.Commands.LedgerLog(ctx)
	if err != nil {
		return err
	}
	settled, err := s.Events.Settled(ctx)
	if err != nil {
		return err
	}
	after := log.Last.Position
	for after < settled {
		rows, err := s.Events.Raws(ctx, "", after, settled, page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if isBusiness(r) && s.Now().Sub(r.RecordedAt) > mostUnsealed {
				return ErrNotApproved
			}
		}
		if len(rows) < page {
			break
		}
		after = rows[len(rows)-1].Position
	}
	return unsettled
}

// upToDate returns the state at the anchored checkpoint, or at a tree that extends it.
func (s *Sealer) upToDate(ctx context.Context, h Head) (*state, error) {
	st := s.state
	switch {
	case st == nil || st.files.Log != h.Opening.Number:
		return s.open(ctx, h)
	case st.signed != h.Checkpoint.Tree:
		return s.follow(ctx, h, st)
	}
	if h.Signed == nil {
		return st, nil
	}
	first, records, err := translog.ReadRecords(h.Checkpoint.Tree, st.files.Read(ctx), h.Checkpoint.Size-1)
	if err != nil {
		return nil, fmt.Errorf("read the newest records of the log: %w", err)
	}
	return st, s.compareRecent(ctx, h, records, first)
}

// follow examines the rows that another node has sealed.
func (s *Sealer) follow(ctx context.Context, h Head, st *state) (*state, error) {
	if st.tree.Size > h.Checkpoint.Size {
		return s.open(ctx, h) // this node has read further than the other one
	}
	_, records, err := translog.ReadRecords(h.Checkpoint.Tree, st.files.Read(ctx), h.Checkpoint.Size-1)
	if err != nil {
		return nil, fmt.Errorf("read the newest records of the log: %w", err)
	}
	end, err := translog.ParseLeaf(records[len(records)-1])
	if err != nil {
		return s.open(ctx, h) // it says that the last leaf is not an event
	}
	// The other node has signed these rows, so they are settled. The settled position of this moment can be lower:
	// a writer that began later may block it again.
	switch err := st.extend(ctx, end.Position, h.Checkpoint.Size-st.tree.Size); {
	case missing(err):
		return s.open(ctx, h) // the tiles of the tree that this node knows were removed
	case err != nil:
		return nil, err
	}
	if st.tree != h.Checkpoint.Tree {
		if err := s.trace(ctx, h); err != nil {
			return nil, err
		}
		return nil, &Finding{Problem: fmt.Sprintf("the database does not have the tree of the checkpoint of size %d", h.Checkpoint.Size)}
	}
	st.signed, st.business = st.tree, 0
	clear(st.moved)
	st.keepVersions()
	return st, nil
}

// acknowledge appends a ledger.sealed that follows the newest checkpoint, unless one does. So the database
// names each anchored checkpoint, and its removal is found even when no event follows. The next checkpoint
// covers the event.
func (st *state) acknowledge(ctx context.Context, h Head) error {
	log, err := st.Commands.LedgerLog(ctx)
	if err != nil || h.Signed == nil || log.Last.Log == h.Opening.Number && log.Last.PreviousSize >= h.Checkpoint.Size {
		return err
	}
	if _, err = st.recordSeal(ctx, h); errors.Is(err, ErrRival) {
		return nil // the other node's seal, or its next pass, does it
	}
	return err
}

// appendSeal appends ledger.sealed and extends the tree up to it.
func (st *state) appendSeal(ctx context.Context, h Head) error {
	recorded, err := st.recordSeal(ctx, h)
	if err != nil {
		return err
	}
	if err := st.settle(ctx, recorded.Position); err != nil {
		return err
	}
	return st.extend(ctx, recorded.Position, all)
}

// recordSeal appends ledger.sealed about the tree so far, and the checkpoint before it. Error: ErrRival.
func (st *state) recordSeal(ctx context.Context, h Head) (eventstore.Recorded, error) {
	accounts := st.accounts.Tree()
	sealed := credit.LogSealed{
		Log: h.Opening.Number, Size: st.tree.Size, Root: st.tree.Root.String(), Position: st.position,
		Accounts: accounts.Size, AccountRoot: accounts.Root.String(),
	}
	if h.Signed != nil {
		sealed.PreviousSize, sealed.Previous = h.Checkpoint.Size, h.Checkpoint.Digest()
	}
	totals := st.totals()
	sealed.TotalsHash = translog.SaltedHash(st.Salt(st.tree), totals.Record())
	recorded, err := st.Commands.SealLog(ctx, sealed)
	var rival *eventstore.ConflictError
	if errors.As(err, &rival) || fault.Has(err, fault.ResourceConflict) {
		return recorded, fmt.Errorf("%w: %w", ErrRival, err)
	}
	return recorded, err
}

// Salt returns the salt of the totals in the seal of a tree. Only the owner of the key can compute it.
func (s *Sealer) Salt(tree translog.Tree) []byte {
	mac := hmac.New(sha256.New, s.Key.Seed())
	mac.Write([]byte("salt of the totals of a vqa ledger" + tree.Root.String()))
	return mac.Sum(nil)
}

// settlePause is the pause between two looks at the settled position.
const settlePause = 20 * time.Millisecond

// settle waits until a position is settled.
func (s *Sealer) settle(ctx context.Context, position int64) error {
	for {
		settled, err := s.Events.Settled(ctx)
		if err != nil || settled >= position {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePause):
		}
	}
}

// sign signs the tree and creates the checkpoint's name. When another node has created it, both must have
// the same tree. It returns the new head.
func (s *Sealer) sign(ctx context.Context, h Head, st *state) (Head, error) {
	c := translog.Checkpoint{Origin: h.Opening.Origin, Tree: st.tree}
	signed, err := c.Sign(s.Key)
	if err != nil {
		return h, err
	}
	if err := st.files.Files.Sync(ctx); err != nil {
		return h, err
	}
	switch err := s.Anchors.Files.Create(ctx, checkpointName(h.Opening.Number, c.Size), signed); {
	case errors.Is(err, anchor.ErrExists):
		other, created, err := s.Anchors.Checkpoint(ctx, h.Keys, h.Opening, c.Size)
		if err != nil {
			return h, err
		}
		if created.Tree != c.Tree {
			return h, &Finding{Problem: fmt.Sprintf("the log was forked: another node has signed a different tree of size %d", c.Size)}
		}
		signed = other
	case err != nil:
		return h, fmt.Errorf("anchor the checkpoint: %w", err)
	}
	st.outdated = append(st.outdated, outdated{st.signed.Size, s.Now()})
	st.signed, st.business = st.tree, 0
	clear(st.moved)
	st.keepVersions()
	h.Signed, h.Checkpoint, h.Cosigned = signed, c, nil
	s.mu.Lock()
	s.head = h
	s.mu.Unlock()
	s.Log.InfoContext(ctx, "ledger checkpoint", "log", h.Opening.Number, "size", c.Size, "root", c.Root.String(), "digest", c.Digest())
	st.prune(ctx)
	return h, nil
}

// keepPartials is how long partial tiles stay after a larger checkpoint. Slower nodes may still read them.
const keepPartials = time.Hour

// outdated is the size of a checkpoint, and the time of the next one.
type outdated struct {
	size int64
	at   time.Time
}

// prune removes the partial tiles that are not needed any more. Those of an earlier process stay.
func (st *state) prune(ctx context.Context) {
	for len(st.outdated) > 0 && st.Now().Sub(st.outdated[0].at) > keepPartials {
		if err := st.files.prune(ctx, st.outdated[0].size, st.signed.Size); err != nil {
			st.Log.DebugContext(ctx, "could not remove partial tiles", "error", err)
		}
		st.outdated = st.outdated[1:]
	}
}
