package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/memory"
)

const acct = "acct_1"

// bench is a pipeline on a log in memory. Its first Load waits, so that commands queue up. It runs in a
// bubble of synctest.
type bench struct {
	t       *testing.T
	p       *Pipeline
	store   *memory.Store
	shim    *shim
	appends int
	loads   int
	gate    chan struct{}
}

func inBubble(t *testing.T, test func(*bench)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, store: memory.New(codec.Events(), time.Now), gate: make(chan struct{})}
		b.shim = &shim{Store: b.store}
		b.shim.beforeLoad = func(context.Context) error {
			b.loads++
			if b.loads == 1 {
				<-b.gate
			}
			return nil
		}
		b.shim.afterAppend = func(context.Context, eventstore.Batch) error {
			b.appends++
			return nil
		}
		b.p = NewPipeline(b.shim, time.Now, slog.New(slog.DiscardHandler))
		start(t, b.p)
		test(b)
	})
}

// verdict receives the error of a started command.
type verdict struct{ err error }

// begin starts a command and returns when it is queued.
func (b *bench) begin(ctx context.Context, in intent, decide func(*session) error) *verdict {
	v := &verdict{errors.New("no verdict yet")}
	go func() { v.err = b.p.do(ctx, in, decide) }()
	synctest.Wait()
	return v
}

// open lets the first Load return and waits until all goroutines are blocked.
func (b *bench) open() {
	close(b.gate)
	b.settle()
}

// settle waits longer than every backoff, in the time of the bubble.
func (b *bench) settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func ofLane() intent {
	return intent{accountID: acct, meta: eventstore.Meta{AccountID: acct}, streams: []eventstore.StreamID{credits.Stream(acct)}}
}

// grantOf returns a command that adds seconds to the account.
func grantOf(seconds int64) func(*session) error {
	return func(s *session) error {
		_, err := credits.record(s, acct, credit.Grant{AccountID: acct, TransactionID: "txn", Kind: credit.Purchase, Seconds: seconds})
		return err
	}
}

// holdOf returns a command that reserves seconds.
func holdOf(source string, seconds int64) func(*session) error {
	return func(s *session) error {
		_, err := credits.record(s, acct, credit.Hold{
			AccountID: acct, HoldID: "hold_" + source, Seconds: seconds, SourceType: credit.SourceAnalysis, SourceID: source,
		})
		return err
	}
}

func (b *bench) balance() credit.State {
	b.t.Helper()
	histories, err := b.store.Load(context.Background(), credits.Stream(acct))
	require.NoError(b.t, err)
	state, err := credits.Restore(histories[credits.Stream(acct)])
	require.NoError(b.t, err)
	return state
}

// seed records a command on the account without the pipeline, as another process does.
func (b *bench) seed(command credit.Command) {
	b.t.Helper()
	intrude(b.t, b.store, command)
}

// intrude records a command on the account without a pipeline.
func intrude(t *testing.T, store eventstore.Store, command credit.Command) {
	t.Helper()
	histories, err := store.Load(context.Background(), credits.Stream(acct))
	require.NoError(t, err)
	s := &session{store: store, loaded: histories, own: map[eventstore.StreamID]entry{}, asked: new(int), now: time.Now(), meta: eventstore.Meta{AccountID: acct}}
	_, err = credits.record(s, acct, command)
	require.NoError(t, err)
	batch, err := writes(s.own, false)
	require.NoError(t, err)
	_, err = store.Append(context.Background(), eventstore.Batch{Writes: batch})
	require.NoError(t, err)
}

func TestGroupGivesEachCommandItsOwnResult(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := context.Background()
		canceled, cancel := context.WithCancel(ctx)
		first := b.begin(ctx, ofLane(), grantOf(10))
		hold7 := b.begin(ctx, ofLane(), holdOf("an_1", 7))
		tooMuch := b.begin(ctx, ofLane(), holdOf("an_2", 4))
		half := b.begin(ctx, ofLane(), func(s *session) error {
			require.NoError(t, grantOf(1000)(s))
			return fault.New(fault.ModelNotFound, "refused after half of its work")
		})
		panics := b.begin(ctx, ofLane(), func(s *session) error {
			require.NoError(t, grantOf(1000)(s))
			panic("a bug")
		})
		gone := b.begin(canceled, ofLane(), grantOf(1000))
		dry := ofLane()
		dry.dryRun = true
		var seen int64
		dryRun := b.begin(ctx, dry, func(s *session) error {
			state, err := credits.get(s, acct)
			seen = state.AvailableSeconds()
			return errors.Join(err, grantOf(1000)(s))
		})
		hold3 := b.begin(ctx, ofLane(), holdOf("an_3", 3))
		cancel()
		b.open()

		require.NoError(t, first.err)
		require.NoError(t, hold7.err)
		requireFault(t, tooMuch.err, fault.InsufficientCredits)
		requireFault(t, half.err, fault.ModelNotFound)
		require.ErrorContains(t, panics.err, "a bug")
		require.Nil(t, fault.Of(panics.err), "a panic is an internal error")
		require.ErrorIs(t, gone.err, context.Canceled)
		require.NoError(t, dryRun.err)
		require.Equal(t, int64(3), seen, "a command sees the changes of earlier commands of its group")
		require.NoError(t, hold3.err)

		s := b.balance()
		require.Equal(t, int64(10), s.PostedSeconds)
		require.Equal(t, int64(10), s.HeldSeconds)
		require.Equal(t, 2, b.appends, "one for the first command, one for all queued ones")
	})
}

// TestRefusedBecauseOfADroppedCommand: a command was refused because of another one of its group. It is decided
// again when the other one's events are not recorded.
func TestRefusedBecauseOfADroppedCommand(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.seed(credit.Grant{AccountID: acct, Kind: credit.Purchase, Seconds: 10})
		taken := ofLane()
		taken.receipt = &eventstore.Receipt{AccountID: acct, Key: "k", RequestHash: [32]byte{1}}
		_, err := b.store.Append(context.Background(), eventstore.Batch{
			Writes:   []eventstore.Write{{Stream: credits.Stream(acct), Expected: 1}},
			Receipts: []eventstore.Receipt{{AccountID: acct, Key: "k", CreatedAt: time.Now()}},
		})
		require.NoError(t, err)

		first := b.begin(context.Background(), ofLane(), func(*session) error { return nil })
		loser := b.begin(context.Background(), taken, holdOf("an_1", 10))
		neighbor := b.begin(context.Background(), ofLane(), holdOf("an_2", 10))
		b.open()

		require.NoError(t, first.err)
		requireFault(t, loser.err, fault.IdempotencyUnavailable)
		require.NoError(t, neighbor.err, "its credits were not reserved")
		_, open := b.balance().Holds.Get("an_2")
		require.True(t, open)
	})
}

// TestSameKeyInOneGroup: the second of two requests with a key is refused. The rest of the group is recorded.
func TestSameKeyInOneGroup(t *testing.T) {
	inBubble(t, func(b *bench) {
		keyed := func() intent {
			in := ofLane()
			in.receipt = &eventstore.Receipt{AccountID: acct, Key: "k"}
			return in
		}
		first := b.begin(context.Background(), ofLane(), func(*session) error { return nil })
		refused := b.begin(context.Background(), keyed(), func(*session) error { return fault.New(fault.ModelNotFound, "") })
		one := b.begin(context.Background(), keyed(), grantOf(1))
		two := b.begin(context.Background(), keyed(), grantOf(2))
		b.open()
		require.NoError(t, first.err)
		requireFault(t, refused.err, fault.ModelNotFound)
		require.NoError(t, one.err, "a refused request does not use up the key")
		requireFault(t, two.err, fault.IdempotencyUnavailable)
		require.Equal(t, 2, b.loads, "one for the first command, one for the group, which was not split")
		require.Equal(t, int64(1), b.balance().PostedSeconds)
	})
}

func TestCanceledBeforeItsTurn(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx, cancel := context.WithCancel(context.Background())
		first := b.begin(context.Background(), ofLane(), grantOf(1))
		ran := false
		waiting := b.begin(ctx, ofLane(), func(s *session) error {
			ran = true
			return grantOf(1000)(s)
		})
		cancel()
		synctest.Wait()
		require.ErrorIs(t, waiting.err, context.Canceled, "the caller does not wait for the lane")
		b.open()
		require.NoError(t, first.err)
		require.False(t, ran, "its caller no longer waits")
		require.Equal(t, int64(1), b.balance().PostedSeconds)
	})
}

// TestCanceledDuringItsTurn: when its lane has taken a command, the caller gets the result, and decide never
// runs after do has returned.
func TestCanceledDuringItsTurn(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx, cancel := context.WithCancel(context.Background())
		atAppend := make(chan struct{})
		b.shim.beforeAppend = func(context.Context, eventstore.Batch) error {
			<-atAppend
			return nil
		}
		v := b.begin(ctx, ofLane(), grantOf(5))
		close(b.gate)
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorContains(t, v.err, "no verdict yet")
		close(atAppend)
		b.settle()
		require.NoError(t, v.err, "it was committed although the caller canceled")
		require.Equal(t, int64(5), b.balance().PostedSeconds)
	})
}

func TestHungStoreEndsAtTheDeadline(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.shim.beforeLoad = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		one := b.begin(context.Background(), ofLane(), grantOf(1))
		two := b.begin(context.Background(), ofLane(), grantOf(1))
		three := b.begin(context.Background(), ofLane(), grantOf(1))
		b.settle()
		synctest.Wait()
		for _, v := range []*verdict{one, two, three} {
			require.ErrorIs(t, v.err, context.DeadlineExceeded)
		}
		require.LessOrEqual(t, time.Since(began), 3*commitTimeout, "a group waits once and not once for each command")
	})
}

func TestFullLaneRefuses(t *testing.T) {
	inBubble(t, func(b *bench) {
		waiting := []*verdict{b.begin(context.Background(), ofLane(), grantOf(1))}
		for range laneDepth {
			waiting = append(waiting, b.begin(context.Background(), ofLane(), grantOf(1)))
		}
		refused := b.begin(context.Background(), ofLane(), grantOf(1))
		requireFault(t, refused.err, fault.CapacityExhausted)
		require.Equal(t, 1, fault.Of(refused.err).RetryAfterS)
		b.open()
		for _, v := range waiting {
			require.NoError(t, v.err)
		}
		require.Equal(t, int64(laneDepth+1), b.balance().PostedSeconds)
		require.Equal(t, 1+laneDepth/groupMax, b.appends)
	})
}

func TestStoppingFinishesQueuedCommands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(codec.Events(), time.Now)
		p := NewPipeline(store, time.Now, slog.New(slog.DiscardHandler))
		b := &bench{t: t, p: p, store: store}
		var accepted []*verdict
		for range 300 {
			accepted = append(accepted, b.begin(context.Background(), ofLane(), grantOf(1)))
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.Run(ctx)
		synctest.Wait()
		for _, v := range accepted {
			require.NoError(t, v.err)
		}
		require.Equal(t, int64(300), b.balance().PostedSeconds)
	})
}

func TestDryRunAppendsNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		in := ofLane()
		in.dryRun = true
		in.receipt = &eventstore.Receipt{AccountID: acct, Key: "k"}
		v := b.begin(context.Background(), in, grantOf(5))
		b.open()
		require.NoError(t, v.err)
		require.Zero(t, b.appends)
		_, found, err := b.store.Receipt(context.Background(), acct, "k", time.Now())
		require.NoError(t, err)
		require.False(t, found, "a dry run records no receipt")
	})
}

// TestReadsAreAsserted: an append asserts the streams that were read, also those without events.
func TestReadsAreAsserted(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.seed(credit.Grant{AccountID: acct, Kind: credit.Purchase, Seconds: 10})
		moved := false
		b.shim.beforeAppend = func(context.Context, eventstore.Batch) error {
			if !moved {
				moved = true
				b.seed(credit.Grant{AccountID: acct, Kind: credit.Purchase, Seconds: 1})
			}
			return nil
		}
		var read []int64
		v := b.begin(context.Background(), ofLane(), func(s *session) error {
			state, err := credits.get(s, acct)
			if err != nil {
				return err
			}
			read = append(read, state.PostedSeconds)
			_, err = credits.record(s, "acct_2", credit.Grant{AccountID: "acct_2", Kind: credit.Purchase, Seconds: state.PostedSeconds})
			return err
		})
		b.open()
		require.NoError(t, v.err)
		require.Equal(t, []int64{10, 11}, read)
	})
}

// TestSnapshotContinuesTheHistory: after many commands the balance equals the fold, although loads start from
// a snapshot.
func TestSnapshotContinuesTheHistory(t *testing.T) {
	inBubble(t, func(b *bench) {
		close(b.gate)
		const pairs = snapshotEvery/2 + 5
		for i := range pairs {
			v := b.begin(context.Background(), ofLane(), grantOf(int64(i+1)))
			b.settle()
			require.NoError(t, v.err)
			source := fmt.Sprintf("an_%d", i)
			v = b.begin(context.Background(), ofLane(), holdOf(source, 1))
			b.settle()
			require.NoError(t, v.err)
		}
		histories, err := b.store.Load(context.Background(), credits.Stream(acct))
		require.NoError(t, err)
		h := histories[credits.Stream(acct)]
		require.Equal(t, int64(snapshotEvery), h.SnapshotVersion)
		require.Len(t, h.Events, 2*pairs-snapshotEvery)
		events, err := b.store.LoadAll(context.Background(), credits.Stream(acct))
		require.NoError(t, err)
		folded, err := credits.Restore(eventstore.History{Events: events})
		require.NoError(t, err)
		require.Equal(t, folded, b.balance())
	})
}
