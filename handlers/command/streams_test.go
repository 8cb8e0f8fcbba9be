package command

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/stream"
)

// slots is the read model of streams with preset values, except that ActiveStream folds the log.
type slots struct {
	world  *world
	queued int
	slotIn int
}

func (l *slots) QueuedStreams(context.Context, bool) (int, error) { return l.queued, nil }
func (l *slots) SlotIn(context.Context, bool) (int, bool)         { return l.slotIn, l.slotIn > 0 }

func (l *slots) ActiveStream(_ context.Context, accountID string, livemode bool) (string, error) {
	active := ""
	for _, r := range l.world.history() {
		switch e := r.Event.(type) {
		case stream.Created:
			if e.AccountID == accountID && e.Livemode == livemode {
				active = e.StreamID
			}
		case stream.Ended:
			if e.StreamID == active {
				active = ""
			}
		}
	}
	return active, nil
}

// watch is a command to create a stream.
func watch() CreateStream { return CreateStream{Prompt: ptr("Is there a dog?")} }

// stream creates a stream of a caller.
func (w *world) stream(caller Caller) stream.State {
	w.t.Helper()
	st, err := w.CreateStream(context.Background(), caller, watch())
	require.NoError(w.t, err)
	return st
}

// owned gives a stream its slot on node "a".
func (w *world) owned(st stream.State) StreamRun {
	w.t.Helper()
	run := StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live"}
	_, err := w.GrantStream(context.Background(), run, "a", "")
	require.NoError(w.t, err)
	return run
}

// goLive takes a stream from its slot to the first frame.
func (w *world) goLive(run StreamRun) {
	w.t.Helper()
	for _, c := range []stream.Command{stream.Offer{Node: "a", Via: "signaling"}, stream.GoLive{Node: "a"}, stream.Resume{Node: "a"}} {
		w.change(run, c)
	}
}

// change records a command of the owner.
func (w *world) change(run StreamRun, c stream.Command) (stream.State, Funds) {
	w.t.Helper()
	st, funds, err := w.ChangeStream(context.Background(), run, c)
	require.NoError(w.t, err)
	return st, funds
}

func TestAStreamReservesItsFirstSlice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for balance, held := range map[int64]int64{1: 1, 59: 59, 60: 60, 600: 60} {
		caller := w.account(balance)
		st := w.stream(caller)
		require.Equal(t, stream.Queued, st.Status)
		require.Equal(t, held, st.HeldSeconds)
		require.Equal(t, held, stateOf(w, credits, caller.AccountID).HeldSeconds)
	}
	empty := w.account(0)
	w.requireUnchanged(func() {
		_, err := w.CreateStream(t.Context(), empty, watch())
		requireFault(t, err, fault.InsufficientCredits)
		empty.Tier = account.FreeGrant
		_, err = w.CreateStream(t.Context(), empty, watch())
		requireFault(t, err, fault.GrantExhausted)
	})
	w.requireLaws()
}

func TestOneStreamAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live := w.account(100)
	test, _ := w.sandbox()
	for _, caller := range []Caller{live, test} {
		counts := tally(together(8, func(int) error {
			_, err := w.CreateStream(context.Background(), caller, watch())
			return err
		}))
		require.Equal(t, map[string]int{"ok": 1, "stream_already_active": 7}, counts)
		active, _ := w.Streams.ActiveStream(t.Context(), caller.AccountID, caller.Livemode)
		ended, err := w.EndStream(t.Context(), caller, active)
		require.NoError(t, err)
		require.Equal(t, stream.Canceled, ended.Reason)
		w.stream(caller)
	}
	w.requireLaws()
}

func TestAFullQueueForSlots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	l := w.Streams.(*slots)
	for _, c := range []struct{ slotIn, want int }{{0, retryDefaultS}, {7, 7}, {9000, retryMaxS}} {
		l.queued, l.slotIn = w.Limits.StreamQueueCap, c.slotIn
		_, err := w.CreateStream(t.Context(), caller, watch())
		requireFault(t, err, fault.CapacityExhausted)
		require.Equal(t, c.want, fault.Of(err).RetryAfterS)
	}
	l.queued--
	w.stream(caller)
}

// heldBytes is a store whose accounts use preset bytes.
type heldBytes int64

func (h heldBytes) HeldBytes(context.Context, string) (int64, int64, error) { return int64(h), 0, nil }

func TestARecordingNeedsRoom(t *testing.T) {
	t.Parallel()
	used := heldBytes(60)
	w := newWorld(t, withLimits(func(l *Limits) { l.StoragePerAccount = 100 }), func(d *Dependencies) { d.Storage = &used })
	caller := w.account(100)
	limit, bounded, err := w.RecordingLimit(t.Context(), caller.AccountID)
	require.NoError(t, err)
	require.True(t, bounded)
	require.Equal(t, int64(20), limit, "two files")
	used = 100
	c := watch()
	c.Recording = true
	w.requireUnchanged(func() {
		_, err = w.CreateStream(t.Context(), caller, c)
		requireFault(t, err, fault.QuotaExceeded)
	})
	w.stream(caller)
}

func TestBadStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	w.requireUnchanged(func() {
		for want, c := range map[fault.Code]CreateStream{
			fault.PromptEmpty:     {},
			fault.ParseFailed:     {Prompt: ptr("?!")},
			fault.ModelNotFound:   {Prompt: ptr("Is there a dog?"), Model: "none"},
			fault.ModelDeprecated: {Prompt: ptr("Is there a dog?"), Model: "old-1"},
		} {
			_, err := w.CreateStream(t.Context(), caller, c)
			requireFault(t, err, want)
		}
	})
}

func TestOnlyTheTenantEndsItsStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, other := w.account(100), w.account(100)
	st := w.stream(caller)
	w.requireUnchanged(func() {
		sandbox := caller
		sandbox.Livemode = false
		for _, wrong := range []Caller{other, sandbox} {
			_, err := w.EndStream(t.Context(), wrong, st.ID)
			requireFault(t, err, fault.ResourceNotFound)
		}
		_, err := w.EndStream(t.Context(), caller, "st_none")
		requireFault(t, err, fault.ResourceNotFound)
	})
}

func TestAStreamThatWasNeverLiveCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	st := w.stream(caller)
	run := w.owned(st)
	w.change(run, stream.Offer{Node: "a", Via: "whip"})
	w.clock.advance(40 * time.Second)
	ended, funds := w.change(run, stream.End{Node: "a", Reason: stream.ICEFailed, Diagnostic: &stream.Diagnostic{Hint: "no path"}})
	require.Equal(t, stream.ICEFailed, ended.Reason)
	require.Equal(t, Funds{Posted: 100, Available: 100}, funds)
	require.Equal(t, stream.Usage{BalanceAfter: ptr(int64(100))}, *ended.Usage)
	require.Empty(t, w.recorded(credit.Settled{}.EventType()))
	w.requireLaws()
}

// recorded counts the events of a type in the log.
func (w *world) recorded(name string) (found []string) {
	for _, r := range w.history() {
		if r.Event.EventType() == name {
			found = append(found, r.Stream.ID)
		}
	}
	return found
}

func TestAnExpiredHoldEndsItsStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	st := w.stream(caller)
	w.clock.advance(holdLife)
	require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, st.ID))
	ended := stateOf(w, streams, st.ID)
	require.Equal(t, stream.Failed, ended.Reason)
	require.Equal(t, int64(0), ended.Usage.BilledSeconds)
	require.Equal(t, int64(100), stateOf(w, credits, caller.AccountID).AvailableSeconds())
	w.requireUnchanged(func() { require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, st.ID)) })
	w.requireLaws()
}
