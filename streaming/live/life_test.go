package live_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

func TestASession(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		began := time.Now()
		w.connect()
		w.show("dog", 12050*time.Millisecond)
		w.end()
		// The last of 121 pictures came after 12 s.
		st := w.log.ended(w, stream.Completed, 12000, 12)
		require.Equal(w, "", st.Detail)
		require.Equal(w, []string{
			"stream.created", "stream.slot_granted", "stream.offered", "stream.live", "stream.resumed", "stream.metered", "stream.metered", "stream.ended",
		}, w.log.types())
		live := w.log.events[3].(stream.WentLive)
		require.Equal(w, "H264 udp srflx", live.Codec+" "+live.Path)

		require.Equal(w, []message.Live{{LiveStartedAt: began}}, of[message.Live](w.reader))
		require.Equal(w, []message.Metering{
			{ElapsedS: 4, BilledSeconds: 5, BalanceSeconds: 995}, {ElapsedS: 9, BilledSeconds: 10, BalanceSeconds: 990},
		}, of[message.Metering](w.reader))
		require.Equal(w, []message.ServerEnd{{Reason: stream.Completed}}, of[message.ServerEnd](w.reader))
		results := of[message.Result](w.reader)
		require.Equal(w, int64(len(results)), st.ResultFrames)
		require.Len(w, st.Summary.LastDetections, stream.MaxLastDetections)
		for i, r := range results {
			require.Equal(w, int64(i+1), r.Seq)
			require.Equal(w, answer.Yes, r.Answer)
			require.Equal(w, []stream.Detection{{Term: "dog", Confidence: answer.CPU().CapYes, Box: [4]float64{.25, .5, .25, .5}}}, r.Detections)
		}
		require.Greater(w, len(results), 100, "a result for each picture: the engine is faster")
		require.True(w, w.wire.closed)
	})
}

// TestReasons ends streams in each way that is not an order of the client.
func TestReasons(t *testing.T) {
	t.Parallel()
	test := creation()
	test.Livemode = false
	short := creation()
	short.MaxSessionSeconds, short.WarnAtSeconds = 20, 5
	vague := creation()
	vague.Query = english.Compile("Why is the sky blue?")
	for name, tt := range map[string]struct {
		create     stream.Create
		balance    int64
		play       func(w *world)
		wait       time.Duration
		reason     stream.EndReason
		clock      int64
		billed     int64
		diagnosed  bool
		warning    []message.Warning
		hasResults bool
	}{
		"nobody joins": {create: creation(), balance: 100, wait: 61 * time.Second, reason: stream.Canceled},
		"no path": {create: creation(), balance: 100, play: func(w *world) {
			_, err := w.session.Answer(w.Context(), "signaling", "offer")
			require.NoError(w, err)
		}, wait: 31 * time.Second, reason: stream.ICEFailed, diagnosed: true},
		"no media": {create: creation(), balance: 100, play: (*world).connect, wait: 16 * time.Second, reason: stream.MediaTimeout, diagnosed: true},
		"no result": {create: creation(), balance: 100, play: func(w *world) {
			w.model.setAway(errors.New("away"))
			w.connect()
			w.show("dog", 20*time.Second)
		}, reason: stream.MediaTimeout, diagnosed: true},
		"a question that cannot be assessed": {create: vague, balance: 100, play: func(w *world) {
			w.connect()
			w.show("dog", 30*time.Second)
			w.end()
		}, reason: stream.Completed, hasResults: true},
		"no result for whole pictures": {create: creation(), balance: 100, play: func(w *world) {
			w.wire.whole = true
			w.model.took = time.Minute
			w.connect()
			w.show("dog", 20*time.Second)
			require.Contains(w, w.log.state.Diagnostic.Hint, "the model did not answer in time")
		}, reason: stream.MediaTimeout, clock: 15000, diagnosed: true},
		"ended before the first result": {create: creation(), balance: 100, play: func(w *world) {
			w.model.took = time.Minute
			w.connect()
			w.show("dog", 9950*time.Millisecond)
			w.end()
		}, reason: stream.Completed, clock: 9900, billed: 10},
		"credits": {create: creation(), balance: 7, play: func(w *world) {
			w.connect()
			w.show("dog", 9*time.Second)
		}, reason: stream.InsufficientCredits, clock: 7000, billed: 7, warning: []message.Warning{{RemainingS: 7}}, hasResults: true},
		"credits after slices": {create: creation(), balance: 130, play: func(w *world) {
			w.connect()
			w.show("dog", 140*time.Second)
		}, reason: stream.InsufficientCredits, clock: 130000, billed: 130, warning: []message.Warning{{RemainingS: 60}}, hasResults: true},
		"longest session": {create: short, balance: 100, play: func(w *world) {
			w.connect()
			w.show("dog", 30*time.Second)
		}, reason: stream.Timeout, clock: 20000, billed: 20, warning: []message.Warning{{RemainingS: 5}}, hasResults: true},
		"test mode": {create: test, play: func(w *world) {
			w.connect()
			w.show("dog", 100*time.Second)
			require.Empty(w, w.model.requests, "the engine was asked")
			w.wire.session.Changed(peer.Closed)
		}, wait: time.Second, reason: stream.Completed, clock: 99900, hasResults: true},
		"vanished": {create: creation(), balance: 100, play: func(w *world) {
			w.connect()
			w.show("dog", 10050*time.Millisecond)
			w.wire.session.Changed(peer.Disconnected)
		}, wait: 21 * time.Second, reason: stream.Completed, clock: 10000, billed: 10, hasResults: true},
		"left without media": {create: creation(), balance: 100, play: func(w *world) {
			w.connect()
			w.show("dog", 10050*time.Millisecond)
			w.session.Left()
		}, wait: 23 * time.Second, reason: stream.Completed, clock: 10000, billed: 10, hasResults: true},
		"closed by the client": {create: creation(), balance: 100, play: func(w *world) {
			w.connect()
			w.show("dog", 2050*time.Millisecond)
			w.wire.session.Changed(peer.Closed)
		}, wait: time.Second, reason: stream.Completed, clock: 2000, billed: 2, hasResults: true},
		"the node stops": {create: creation(), balance: 100, play: func(w *world) {
			w.connect()
			w.show("dog", 2050*time.Millisecond)
			require.NoError(w, w.host.Close(w.Context()))
		}, wait: time.Second, reason: stream.Failed, clock: 2000, billed: 2, hasResults: true},
		"ended before live": {create: creation(), balance: 100, play: func(w *world) {
			w.end()
		}, wait: time.Second, reason: stream.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, tt.create, tt.balance, func(w *world) {
				if tt.play != nil {
					tt.play(w)
				}
				w.wait(tt.wait + time.Millisecond)
				st := w.log.ended(w, tt.reason, tt.clock, tt.billed)
				require.Equal(w, []message.ServerEnd{{Reason: tt.reason}}, of[message.ServerEnd](w.reader))
				require.Equal(w, tt.diagnosed, st.Diagnostic != nil)
				require.Equal(w, tt.warning, of[message.Warning](w.reader))
				require.Equal(w, tt.hasResults, st.ResultFrames > 0)
				_, err := w.session.Answer(w.Context(), "signaling", "offer")
				require.True(w, fault.Has(err, fault.ResourceConflict), "%v", err)
			})
		})
	}
}

// TestTheClockNeverExceedsTheHeldSeconds: a picture comes in the moment of the cutoff.
func TestTheClockNeverExceedsTheHeldSeconds(t *testing.T) {
	t.Parallel()
	run(t, creation(), 7, func(w *world) {
		w.connect()
		w.show("dog", 6900*time.Millisecond)
		w.wire.session.Picture(assemble.Picture{Data: []byte("dog"), At: time.Now().Add(time.Second)})
		w.wait(time.Second)
		st := w.log.ended(w, stream.InsufficientCredits, 7000, 7)
		require.Equal(w, int64(7000), st.ClockMillis)
	})
}

// TestCreditsBoughtInTime: the latest heartbeat was at 5 s, and the credits end at 8 s.
func TestCreditsBoughtInTime(t *testing.T) {
	t.Parallel()
	run(t, creation(), 8, func(w *world) {
		w.connect()
		w.show("dog", 6*time.Second)
		w.log.buy(3)
		w.show("dog", 10*time.Second)
		w.wait(time.Second)
		w.log.ended(w, stream.InsufficientCredits, 11000, 11)
	})
}

func TestTheClockPausesInGaps(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 3*time.Second)
		time.Sleep(1800 * time.Millisecond) // a gap that counts: 1.9 s from picture to picture
		w.show("dog", 3*time.Second)
		require.NotContains(w, w.log.types(), "stream.paused")
		time.Sleep(10 * time.Second) // with a socket, the client has not vanished
		require.Contains(w, w.log.types(), "stream.paused")
		require.False(w, w.session.State().Running)
		require.Equal(w, int64(7730), w.session.State().ClockMillis)
		w.show("dog", 2*time.Second)
		require.True(w, w.session.State().Running)
		w.end()
		w.log.ended(w, stream.Completed, 9630, 10)
	})
}

func TestRestartOfICE(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 5*time.Second)
		seq := len(of[message.Result](w.reader))
		w.wire.session.Changed(peer.Disconnected)
		time.Sleep(15 * time.Second)
		_, err := w.session.Answer(w.Context(), "signaling", "restart")
		require.NoError(w, err)
		w.wire.session.Changed(peer.Waiting)
		w.wire.session.Changed(peer.Connected)
		time.Sleep(10 * time.Second)
		w.show("dog", 5*time.Second)
		require.False(w, w.over())
		results := of[message.Result](w.reader)
		require.Equal(w, int64(seq+1), results[seq].Seq)
		require.Len(w, of[message.Live](w.reader), 1)
		w.wire.session.Changed(peer.Disconnected)
		time.Sleep(10 * time.Second) // the grace window begins again
		require.False(w, w.over())
		w.end()
		w.log.ended(w, stream.Completed, 9800, 10)
	})
}

func TestTheLogIsAway(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 10*time.Second)
		w.log.setDown(errDown)
		w.show("dog", 10*time.Second)
		time.Sleep(5 * time.Second) // a pause that the log never learns of
		w.show("dog", 10*time.Second)
		require.True(w, fault.Has(w.session.UpdatePrompt(w.Context(), "Is there a cat?"), fault.DBUnavailable))
		before := len(of[message.Result](w.reader))
		w.log.setDown(nil)
		w.show("dog", 6*time.Second)
		require.Greater(w, len(of[message.Result](w.reader)), before)
		w.end()
		w.log.ended(w, stream.Completed, 35860, 36)
	})
}

// TestTheLogIsAwayWhenTheCreditsRunOut: the session holds 60 s and cannot ask for more.
func TestTheLogIsAwayWhenTheCreditsRunOut(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 10*time.Second)
		w.log.setDown(errors.New("broken pipe"))
		w.show("dog", 60*time.Second)
		require.False(w, w.over(), "the log has no end yet")
		require.True(w, w.wire.closed, "the client need not wait for the log")
		require.Equal(w, []message.ServerEnd{{Reason: stream.Failed}}, of[message.ServerEnd](w.reader), "the client learns of it")
		w.log.setDown(nil)
		w.wait(5 * time.Second)
		w.log.ended(w, stream.Failed, 60000, 60)
	})
}

func TestEndedElsewhere(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 8*time.Second)
		_, _, err := w.log.Record(w.Context(), "st_1", stream.End{})
		require.NoError(w, err)
		w.show("dog", 3*time.Second)
		w.wait(time.Second)
		require.Equal(w, []message.ServerEnd{{Reason: stream.Completed}}, of[message.ServerEnd](w.reader))
		w.log.ended(w, stream.Completed, 4900, 5) // the last heartbeat
	})
}

func TestAnotherOwner(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		time.Sleep(time.Second)
		st, _, err := w.log.Record(w.Context(), "st_1", stream.GrantSlot{Node: "node-2"})
		require.NoError(w, err)
		older := st
		older.ReadyAt = &older.CreatedAt
		w.session.Observe(older)
		synctest.Wait()
		require.False(w, w.over(), "an older state is ignored")
		w.session.Observe(st)
		w.wait(time.Second)
		require.Empty(w, of[message.ServerEnd](w.reader), "the stream goes on elsewhere")
		require.Equal(w, stream.Ready, w.log.state.Status)
	})
}

func TestPromptUpdate(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 5*time.Second)
		before := of[message.Result](w.reader)
		require.Equal(w, answer.Yes, before[len(before)-1].Answer)
		require.NoError(w, w.session.UpdatePrompt(w.Context(), "Is there a cat?"))
		w.show("dog", time.Second)
		after := of[message.Result](w.reader)[len(before):]
		require.Equal(w, answer.No, after[1].Answer, "the first result may have been on its way")
		require.Empty(w, after[1].Detections)
		updates := of[message.PromptUpdated](w.reader)
		require.Len(w, updates, 1)
		require.Equal(w, "cat", updates[0].Query.Subjects[0].Term)

		require.NoError(w, w.session.UpdatePrompt(w.Context(), "Is there a cat?"))
		require.Len(w, of[message.PromptUpdated](w.reader), 1)
		synctest.Wait()
		require.Len(w, of[message.PromptUpdated](w.reader), 2, "also a repeated one is confirmed")
		var err error
		for i := 0; err == nil && i < 20; i++ {
			err = w.session.UpdatePrompt(w.Context(), fmt.Sprintf("Are there %d cats?", i))
		}
		require.True(w, fault.Has(err, fault.RateLimitExceeded), err)
		w.end()
	})
}

func TestTheEngineIsAway(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 5*time.Second)
		w.model.setAway(errors.New("away"))
		w.show("dog", 30*time.Second)
		require.Len(w, of[message.Error](w.reader), 1)
		require.Equal(w, fault.InferenceUnavailable, of[message.Error](w.reader)[0].Code)
		n := len(of[message.Result](w.reader))
		w.model.setAway(nil)
		w.show("dog", 5*time.Second)
		require.Greater(w, len(of[message.Result](w.reader)), n+20)
		w.end()
		w.log.ended(w, stream.Completed, 39900, 40)
	})
}

func TestOffersThatAreRefused(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		_, err := w.session.Answer(w.Context(), "signaling", "")
		require.True(w, fault.Has(err, fault.ValidationFailed))
		require.ErrorContains(w, err, "The offer has no video.")
		require.Equal(w, stream.Ready, w.log.state.Status)
		require.Nil(w, w.log.state.OfferedAt, "the time for ICE does not begin")
		w.connect()
		for range 20 {
			_, err = w.session.Answer(w.Context(), "signaling", "")
		}
		require.True(w, fault.Has(err, fault.RateLimitExceeded), err)
		w.end()
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		again, err := w.host.Open(w.log.state)
		require.NoError(w, err)
		require.Same(w, w.session, again)
		other := w.log.state
		other.ID, other.Status = "st_2", stream.Live
		_, err = w.host.Open(other)
		require.Error(w, err)
		require.NoError(w, w.host.Close(w.Context()))
		_, err = w.host.Open(w.log.state)
		require.ErrorIs(w, err, live.ErrHostClosed)
		require.Equal(w, stream.Ready, w.log.state.Status, "another node can have it")
	})
}
