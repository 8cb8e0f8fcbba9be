package command

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
)

// TestALiveStreamReservesInSlices runs a stream until its credits are used.
func TestALiveStreamReservesInSlices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(130)
	run := w.owned(w.stream(caller))
	w.goLive(run)
	var held []int64
	for clock := int64(5); clock <= 130; clock += 5 {
		w.clock.advance(5 * time.Second)
		st, funds := w.change(run, stream.Meter{Node: "a", ClockMillis: clock * 1000, ResultFrames: clock})
		require.Equal(t, int64(130), funds.Posted)
		require.Equal(t, 130-st.HeldSeconds, funds.Available)
		if len(held) == 0 || held[len(held)-1] != st.HeldSeconds {
			held = append(held, st.HeldSeconds)
		}
		require.Greater(t, st.HeldSeconds+1, clock, "never more than was reserved")
	}
	require.Equal(t, []int64{60, 120, 130}, held)
	w.clock.advance(time.Second)
	ended, funds := w.change(run, stream.End{Node: "a", Reason: stream.InsufficientCredits, ClockMillis: 131_000})
	require.Equal(t, int64(130), ended.Usage.BilledSeconds, "never more than the account has")
	require.Equal(t, Funds{}, funds)
	w.requireLaws()
}

func TestAStreamReservesNoMoreThanItsLongestSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.StreamMaxSessionSeconds = 70 }))
	caller := w.account(1000)
	run := w.owned(w.stream(caller))
	w.goLive(run)
	w.clock.advance(40 * time.Second)
	st, _ := w.change(run, stream.Meter{Node: "a", ClockMillis: 40_000})
	require.Equal(t, int64(70), st.HeldSeconds)
	w.clock.advance(40 * time.Second)
	ended, _ := w.change(run, stream.End{Node: "a", Reason: stream.Timeout, ClockMillis: 80_000})
	require.Equal(t, int64(70), ended.Usage.BilledSeconds)
	w.requireLaws()
}

func TestAQuotaEndsTheSlices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.QuotaSecondsPerMonth = 60 }))
	caller := w.account(1000)
	run := w.owned(w.stream(caller))
	w.goLive(run)
	w.clock.advance(40 * time.Second)
	st, _ := w.change(run, stream.Meter{Node: "a", ClockMillis: 40_000})
	require.Equal(t, int64(60), st.HeldSeconds)
	require.Equal(t, int64(40_000), st.ClockMillis, "the heartbeat is recorded all the same")
}

// TestTheOwnerBillsToItsClock: the owner knows the last frame, others only the last heartbeat.
func TestTheOwnerBillsToItsClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	started := func() (stream.State, StreamRun) {
		st := w.stream(caller)
		run := w.owned(st)
		w.goLive(run)
		w.clock.advance(5 * time.Second)
		w.change(run, stream.Meter{Node: "a", ClockMillis: 5000})
		w.clock.advance(2 * time.Second)
		return st, run
	}
	_, run := started()
	ended, _ := w.change(run, stream.End{Node: "a", ClockMillis: 6100})
	require.Equal(t, stream.Completed, ended.Reason)
	require.Equal(t, int64(7), ended.Usage.BilledSeconds, "a second that has started counts")
	w.requireUnchanged(func() {
		again, _ := w.change(run, stream.End{Node: "a", ClockMillis: 9000})
		require.Equal(t, ended, again)
		_, _, err := w.ChangeStream(t.Context(), run, stream.Meter{Node: "a", ClockMillis: 9000})
		require.True(t, IsStale(err))
	})

	st, _ := started()
	ended, err := w.EndStream(t.Context(), caller, st.ID)
	require.NoError(t, err)
	require.Equal(t, int64(5), ended.Usage.BilledSeconds)

	_, run = started()
	run.Actor = "sweep"
	ended, funds := w.change(run, stream.End{Reason: stream.Failed, Detail: "Its node was lost."})
	require.Equal(t, int64(5), ended.Usage.BilledSeconds)
	require.Equal(t, Funds{Posted: 100 - 7 - 5 - 5, Available: 100 - 7 - 5 - 5}, funds)
	w.requireLaws()
}

func TestOneOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	st := w.stream(caller)
	run := StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live"}
	nodes := []string{"a", "b", "c", "d"}
	counts := tally(together(len(nodes), func(i int) error {
		_, err := w.GrantStream(context.Background(), run, nodes[i], "")
		return err
	}))
	require.Equal(t, map[string]int{"ok": 1, "resource_conflict": 3}, counts)
	owner := stateOf(w, streams, st.ID).Node
	st, err := w.GrantStream(t.Context(), run, "e", owner)
	require.NoError(t, err, "the owner was found dead")
	require.Equal(t, "e", st.Node)
	_, _, err = w.ChangeStream(t.Context(), run, stream.Offer{Node: owner})
	requireFault(t, err, fault.ResourceConflict)
	none := run
	none.StreamID = "st_none"
	_, err = w.GrantStream(t.Context(), none, "e", "")
	requireFault(t, err, fault.ResourceNotFound)
}

// ask replaces the question of a stream, as its owner does.
func (w *world) ask(run StreamRun, prompt string) (stream.State, error) {
	q, mode, err := w.CompileStreamPrompt(context.Background(), true, prompt)
	if err != nil {
		return stream.State{}, err
	}
	st, _, err := w.ChangeStream(context.Background(), run, stream.UpdatePrompt{Prompt: prompt, Query: q, ParseMode: mode})
	return st, err
}

func TestUpdateOfAPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	run := w.owned(w.stream(caller))
	st, err := w.ask(run, "How many cats are there?")
	require.NoError(t, err)
	require.Equal(t, "How many cats are there?", *st.Prompt)
	require.Equal(t, "cat", st.Query.Subjects[0].Term)
	w.requireUnchanged(func() {
		_, err := w.ask(run, " ")
		requireFault(t, err, fault.PromptEmpty)
	})
}

// TestTestModeStreamsMoveNoCredits takes a stream of test mode through its whole life.
func TestTestModeStreamsMoveNoCredits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, _ := w.sandbox()
	before := len(w.recorded("credit.held")) + len(w.recorded("credit.granted"))
	run := w.owned(w.stream(caller))
	w.goLive(run)
	w.clock.advance(100 * time.Second)
	st, _ := w.change(run, stream.Meter{Node: "a", ClockMillis: 100_000})
	require.Equal(t, int64(0), st.HeldSeconds)
	ended, _ := w.change(run, stream.End{Node: "a", ClockMillis: 100_000})
	require.Equal(t, stream.Usage{}, *ended.Usage)
	require.Equal(t, int64(100), ended.DurationSeconds())
	require.Len(t, append(w.recorded("credit.held"), w.recorded("credit.granted")...), before)
	require.Empty(t, append(w.recorded("credit.extended"), w.recorded("credit.settled")...))
	w.requireLaws()
}

// streamFlow records at least one event of every type of a stream.
func streamFlow(t *testing.T, w *world) {
	t.Helper()
	caller := w.account(1000)
	st, err := w.CreateStream(t.Context(), caller, CreateStream{Prompt: ptr("Is there a dog?"), Recording: true})
	require.NoError(t, err)
	run := w.owned(st)
	w.goLive(run)
	w.clock.advance(40 * time.Second)
	for _, c := range []stream.Command{
		stream.Meter{Node: "a", ClockMillis: 40_000, ResultFrames: 3},
		stream.RecordPart{Node: "a", Part: stream.Part{Number: 1, Key: "part", SizeBytes: 1, Frames: 1, DurationMillis: 1}},
		stream.Pause{Node: "a", ClockMillis: 40_000},
		stream.FailRecording{Node: "a", Failure: stream.RecordingFailure{Code: "upstream_error", Message: "No disk."}},
	} {
		w.change(run, c)
	}
	_, err = w.ask(run, "Is there a cat?")
	require.NoError(t, err)
	_, err = w.EndStream(t.Context(), caller, st.ID)
	require.NoError(t, err)
	_, err = w.DeleteRecording(t.Context(), caller, st.ID)
	require.NoError(t, err)
}
