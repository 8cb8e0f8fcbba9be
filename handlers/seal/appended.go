package seal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
)

// ErrUnsettled says that an event of this node has waited for its seal for more than five minutes, because the
// database does not report it as settled.
var ErrUnsettled = errors.New("an event waits too long for its seal")

// mostOwn bounds the events that the sealer demands.
const mostOwn = 200_000

// owned is an event that this node appended.
type owned struct {
	postgres.Place
	// since is the time of the first pass after the append. The time in the row is the database's.
	since time.Time
}

// remember takes over the appends of this process. Those of an earlier log are not demanded: it ended with a restore.
func (s *Sealer) remember(h Head) {
	places := s.Events.Appended()
	if s.ownLog != h.Opening.Number {
		if s.ownLog != 0 {
			places = nil
		}
		s.own, s.ownLog = map[int64]owned{}, h.Opening.Number
	}
	if len(s.own)+len(places) > mostOwn {
		clear(s.own) // sealing has stopped long ago, with an alarm
	}
	for _, p := range places {
		s.own[p.Position] = owned{p, s.Machine()}
	}
}

// meet compares a row that goes into the tree with what this node appended at its position.
func (s *Sealer) meet(r postgres.Raw) error {
	p, mine := s.own[r.Position]
	if !mine {
		return nil
	}
	if r.Version != p.Version || r.Chain != p.Chain || !r.RecordedAt.Equal(p.RecordedAt) { // the chain covers the stream
		return notAppended(p.Place)
	}
	delete(s.own, r.Position)
	return nil
}

// demand checks that the tree has each event that this node appended. meet has seen most of them; others were sealed
// by another node, or before this node learned their positions. Errors: *Finding, ErrUnsettled.
func (st *state) demand(ctx context.Context) error {
	var pending []postgres.Place
	var unsettled error
	for position, p := range st.own {
		switch {
		case position <= st.position:
			pending = append(pending, p.Place)
		case st.Machine().Sub(p.since) > mostUnsealed:
			unsettled = fmt.Errorf("%w: position %d, stream %s", ErrUnsettled, position, p.Stream)
		}
	}
	slices.SortFunc(pending, func(a, b postgres.Place) int { return cmp.Compare(a.Position, b.Position) })
	files := Tree{Cached(st.files.Files), st.files.Log}
	for len(pending) > 0 {
		_, leaves, err := files.around(ctx, st.tree, pending[0].Position)
		if err != nil {
			return err
		}
		if len(leaves) == 0 {
			return notAppended(pending[0])
		}
		sealed := map[int64]translog.Leaf{}
		for _, l := range leaves {
			sealed[l.Position] = l
		}
		for len(pending) > 0 && pending[0].Position <= leaves[len(leaves)-1].Position {
			p := pending[0]
			if l, found := sealed[p.Position]; !found || !l.Equal(LeafAt(p)) {
				return notAppended(p)
			}
			delete(st.own, p.Position)
			pending = pending[1:]
		}
	}
	return unsettled
}

// LeafAt returns the leaf of an event with a place.
func LeafAt(p postgres.Place) translog.Leaf {
	return translog.Leaf{Position: p.Position, RecordedAt: p.RecordedAt, Stream: p.Stream, Version: p.Version, Chain: p.Chain}
}

func notAppended(p postgres.Place) error {
	return Named(LeafAt(p), "this node appended the event, and the database does not show it to the sealer: it was removed, replaced or hidden, or the database lost it in a failover")
}

// checkTables checks that the database shows every statement the same rows. Error: *Finding.
func (s *Sealer) checkTables(ctx context.Context) error {
	err := s.Events.CheckTables(ctx)
	var unsafe *postgres.UnsafeError
	if errors.As(err, &unsafe) {
		return &Finding{Problem: unsafe.Detail + "; to repair it: " + unsafe.Remedy}
	}
	return err
}
