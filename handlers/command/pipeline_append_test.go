package command

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/codec"
)

func TestConflictIsDecidedAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.seed(credit.Grant{AccountID: acct, Kind: credit.Purchase, Seconds: 10})
		intruded := false
		b.shim.beforeAppend = func(context.Context, eventstore.Batch) error {
			if !intruded {
				intruded = true
				b.seed(credit.Hold{AccountID: acct, HoldID: "theirs", Seconds: 8, SourceType: credit.SourceAnalysis, SourceID: "an_0"})
			}
			return nil
		}
		big := b.begin(context.Background(), ofLane(), holdOf("an_1", 5))
		b.open()
		small := b.begin(context.Background(), ofLane(), holdOf("an_2", 2))
		b.settle()
		requireFault(t, big.err, fault.InsufficientCredits) // 8 of 10 are held at that time
		require.NoError(t, small.err)
		require.Equal(t, int64(0), b.balance().AvailableSeconds())
	})
}

// TestConflictsEndAtTheDeadline: a command is decided again as long as its deadline permits, and its neighbors
// wait no longer than it.
func TestConflictsEndAtTheDeadline(t *testing.T) {
	inBubble(t, func(b *bench) {
		tries := 0
		b.shim.beforeAppend = func(_ context.Context, batch eventstore.Batch) error {
			tries++
			return &eventstore.ConflictError{Stream: batch.Writes[0].Stream, Actual: -1}
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout/2)
		defer cancel()
		var took time.Duration
		impatient := &verdict{}
		go func() {
			impatient.err = b.p.do(ctx, ofLane(), grantOf(1))
			took = time.Since(began)
		}()
		second := b.begin(context.Background(), ofLane(), grantOf(1))
		b.open()
		require.ErrorIs(t, impatient.err, context.DeadlineExceeded)
		require.Less(t, took, commitTimeout, "it does not wait for the deadline of the group")
		requireFault(t, second.err, fault.DBUnavailable)
		require.GreaterOrEqual(t, fault.Of(second.err).RetryAfterS, 1)
		require.Greater(t, tries, 100, "it is not given up before the deadline")
		require.Equal(t, int64(0), b.balance().PostedSeconds)
	})
}

// TestOneBadCommandDoesNotFailItsNeighbors: the store refuses a group because of one command.
func TestOneBadCommandDoesNotFailItsNeighbors(t *testing.T) {
	inBubble(t, func(b *bench) {
		bad := func(s *session) error {
			s.own[credits.Stream("bad")] = entry{pending: []eventstore.NewEvent{{Event: unknownEvent{}}}}
			return nil
		}
		first := b.begin(context.Background(), ofLane(), func(*session) error { return nil })
		before := b.begin(context.Background(), ofLane(), grantOf(1))
		wrong := b.begin(context.Background(), ofLane(), bad)
		after := b.begin(context.Background(), ofLane(), grantOf(2))
		b.open()
		require.NoError(t, first.err)
		require.NoError(t, before.err)
		var unknown *codec.UnknownTypeError
		require.ErrorAs(t, wrong.err, &unknown)
		require.NoError(t, after.err)
		require.Equal(t, int64(3), b.balance().PostedSeconds)
	})
}

// TestUncertainAppendIsNotRepeated: after a lost connection during the commit, the append is not repeated.
func TestUncertainAppendIsNotRepeated(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.shim.afterAppend = func(context.Context, eventstore.Batch) error {
			return &eventstore.UncertainError{Cause: errBroken}
		}
		first := b.begin(context.Background(), ofLane(), func(*session) error { return nil })
		one := b.begin(context.Background(), ofLane(), grantOf(1))
		two := b.begin(context.Background(), ofLane(), grantOf(2))
		b.open()
		require.NoError(t, first.err)
		for _, v := range []*verdict{one, two} {
			require.True(t, fault.Has(v.err, fault.DBUnavailable), "%v", v.err)
		}
		require.Equal(t, int64(3), b.balance().PostedSeconds)
	})
}

// TestStreamsAreWrittenInTheOrderOfUse: the positions of one append follow the order of first use.
func TestStreamsAreWrittenInTheOrderOfUse(t *testing.T) {
	inBubble(t, func(b *bench) {
		var want []string
		ordered := b.begin(context.Background(), ofLane(), func(s *session) error {
			want = want[:0]
			for i := range 20 {
				id := fmt.Sprintf("acct_%d", 20-i)
				want = append(want, id)
				if _, err := credits.record(s, id, credit.Grant{AccountID: id, TransactionID: "txn_" + id, Kind: credit.Purchase, Seconds: 1}); err != nil {
					return err
				}
			}
			return nil
		})
		b.open()
		require.NoError(t, ordered.err)
		recorded, err := b.store.Read(context.Background(), 0, 100)
		require.NoError(t, err)
		var got []string
		for _, r := range recorded {
			got = append(got, r.Stream.ID)
		}
		require.Equal(t, want, got)
	})
}

type unknownEvent struct{}

func (unknownEvent) EventType() string { return "credit.unknown" }
