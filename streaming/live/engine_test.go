package live_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

// ledgers is the log of several streams.
type ledgers map[string]*ledger

// Record implements live.Log.
func (l ledgers) Record(ctx context.Context, id string, c stream.Command) (stream.State, live.Funds, error) {
	return l[id].Record(ctx, id, c)
}

// wires opens one wire for each stream.
type wires map[string]*wire

// Open implements live.Peers.
func (w wires) Open(s peer.Session) (live.Peer, error) { return w[s.ID].Open(s) }

// TestStreamsTakeTurns runs six streams on an engine that is slower than all of them together.
func TestStreamsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const streams = 6
		logs, lines, eye := ledgers{}, wires{}, &model{took: 300 * time.Millisecond}
		host := live.NewHost(live.Options{Peers: lines, Engine: eye, Log: logs, Windows: windows, Calls: 2})
		host.SampleWith(newSamples)
		var readers []*reader
		var worlds []*world
		for i := range streams {
			c := creation()
			c.ID = fmt.Sprintf("st_%d", i)
			logs[c.ID], lines[c.ID] = newLedger(t, c, 1000), &wire{}
			s, err := host.Open(logs[c.ID].state)
			require.NoError(t, err)
			readers = append(readers, read(s.Subscribe(0)))
			worlds = append(worlds, &world{T: t, wire: lines[c.ID], session: s})
		}
		for i, w := range worlds {
			w.connect()
			time.Sleep(time.Duration(i) * time.Millisecond)
		}
		for range 300 { // 30 s
			for i, w := range worlds {
				if i > 0 { // the first one sends fewer pictures than it has turns
					w.wire.session.Picture(assemble.Picture{Data: []byte("dog"), At: time.Now()})
				} else if time.Now().UnixMilli()/100%50 == 0 {
					w.wire.session.Picture(assemble.Picture{Data: []byte("dog"), At: time.Now()})
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		// 2 calls at once, each 0.3 s: 200 results in 30 s, 40 for each of the five.
		for i, r := range readers[1:] {
			require.InDelta(t, 39, len(of[message.Result](r)), 4, "stream %d", i+1)
		}
		require.InDelta(t, 6, len(of[message.Result](readers[0])), 1)
		for _, late := range readers[1].delays() {
			require.Less(t, late, 500*time.Millisecond, "the newest sample goes to the engine")
		}
		require.NoError(t, host.Close(t.Context()))
		require.Equal(t, 2, eye.most)
	})
}

// TestAnAnswerToAnotherQuestion: the question is replaced by one with a new term while the engine works.
func TestAnAnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.model.took, w.model.open = 500*time.Millisecond, true
		w.connect()
		w.show("unicorn", 2300*time.Millisecond)
		n := len(of[message.Result](w.reader))
		require.NoError(w, w.session.UpdatePrompt(w.Context(), "Is there a unicorn?"))
		w.show("unicorn", 2*time.Second)
		for _, r := range of[message.Result](w.reader)[n:] {
			require.EqualValues(w, "yes", r.Answer, "no result without the new term")
		}
		require.NotEqual(w, n, len(of[message.Result](w.reader)))
		w.end()
	})
}

func TestTheNarrativeOption(t *testing.T) {
	t.Parallel()
	c := creation()
	c.Narrative = true
	run(t, c, 1000, func(w *world) {
		w.connect()
		w.show("dog", 10*time.Second)
		require.NoError(w, w.session.UpdatePrompt(w.Context(), "Is there a cat?"))
		w.show("dog", time.Second)
		var told []string
		for _, r := range of[message.Result](w.reader) {
			if r.NarrativeUpdate != nil {
				told = append(told, r.NarrativeUpdate.Text)
			}
		}
		require.Equal(w, []string{"A dog is in view."}, told)
		var kinds []message.StatusKind
		for _, s := range of[message.Status](w.reader) {
			kinds = append(kinds, s.Status)
		}
		require.Equal(w, []message.StatusKind{message.PromptContext, message.PromptContext, message.Recalculating}, kinds)
		w.end()
	})
	test := c
	test.Livemode = false
	run(t, test, 0, func(w *world) {
		w.connect()
		w.show("dog", 3*time.Second)
		for i, r := range of[message.Result](w.reader) {
			require.Equal(w, i == 0, r.NarrativeUpdate != nil, "a sentence of test mode comes once")
		}
		w.end()
	})
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 5*time.Second)
		require.Empty(w, of[message.Status](w.reader))
		for _, r := range of[message.Result](w.reader) {
			require.Nil(w, r.NarrativeUpdate)
		}
		w.end()
	})
}

// tape is a recorder that stores a part of every ten pictures.
type tape struct {
	report live.Recording
	n      int
	parts  int
	broken error
	// breaks and fills are the pictures at which the recorder fails, and at which its room ends.
	breaks, fills int
}

func (r *tape) Push(assemble.Picture) {
	switch r.n++; r.n {
	case r.breaks:
		r.report.Failed(errors.New("disk"))
	case r.fills:
		r.report.Full(fault.New(fault.QuotaExceeded, "No room."))
	}
	if r.n%10 == 0 {
		r.parts++
		r.report.Stored(stream.Part{Number: r.parts, Key: "k", SizeBytes: 1, Frames: 10, DurationMillis: 1000})
	}
}

func (r *tape) Close(context.Context) error {
	if r.n%10 > 0 {
		r.parts++
		r.report.Stored(stream.Part{Number: r.parts, Key: "k", SizeBytes: 1, Frames: int64(r.n % 10)})
	}
	return r.broken
}

func TestRecording(t *testing.T) {
	t.Parallel()
	c := creation()
	c.Recording = true
	for name, tt := range map[string]struct {
		broken, opening error
		breaks, fills   int
		play            time.Duration
		end             stream.RecordingStatus
		frames          int64
		failure         *stream.RecordingFailure
		notice          []message.Error
	}{
		"available": {play: 2500 * time.Millisecond, end: stream.RecordingAvailable, frames: 25},
		"broken":    {play: 2500 * time.Millisecond, end: stream.RecordingFailed, frames: 25, broken: errors.New("disk")},
		"no media":  {end: stream.RecordingNone},
		"broken while live": {
			play: 2500 * time.Millisecond, breaks: 12, end: stream.RecordingFailed, frames: 10,
			failure: &stream.RecordingFailure{Code: "upstream_error", Message: "The recording could not be stored."},
			notice:  []message.Error{{Code: fault.UpstreamError, Message: "The recording failed, and the stream goes on. The recording could not be stored."}},
		},
		"full": {
			play: 2500 * time.Millisecond, fills: 12, end: stream.RecordingAvailable, frames: 25,
			notice: []message.Error{{Code: fault.QuotaExceeded, Message: "The recording ends here, and the stream goes on. No room."}},
		},
		"cannot be begun": {
			play: 2500 * time.Millisecond, end: stream.RecordingFailed, opening: fault.New(fault.QuotaExceeded, "No room."),
			failure: &stream.RecordingFailure{Code: "quota_exceeded", Message: "No room."},
			notice:  []message.Error{{Code: fault.QuotaExceeded, Message: "The recording failed, and the stream goes on. No room."}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &world{T: t, log: newLedger(t, c, 1000), wire: &wire{}, model: &model{}}
				host := live.NewHost(live.Options{
					Peers: w.wire, Engine: w.model, Log: w.log, Windows: windows,
					Record: func(st stream.State, report live.Recording) (live.Recorder, error) {
						require.Equal(t, "st_1", st.ID)
						return &tape{report: report, broken: tt.broken, breaks: tt.breaks, fills: tt.fills}, tt.opening
					},
				})
				host.SampleWith(newSamples)
				var err error
				w.session, err = host.Open(w.log.state)
				require.NoError(t, err)
				w.reader = read(w.session.Subscribe(0))
				w.connect()
				require.True(t, w.wire.session.H264Only)
				w.show("dog", tt.play)
				w.end()
				require.Equal(t, tt.end, w.log.state.RecordingStatus)
				require.Equal(t, tt.frames, w.log.state.Recorded.Frames)
				require.Equal(t, tt.failure, w.log.state.RecordingFailure)
				require.Equal(t, tt.notice, of[message.Error](w.reader))
				require.Equal(t, stream.Completed, w.log.state.Reason)
				require.NoError(t, host.Close(t.Context()))
			})
		})
	}
}

// TestTheLogIsAwayWhenICESucceeds: the log is away until the time for ICE is over.
func TestTheLogIsAwayWhenICESucceeds(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.session.Joined()
		_, err := w.session.Answer(w.Context(), "signaling", "offer")
		require.NoError(w, err)
		time.Sleep(29 * time.Second)
		w.log.setDown(errDown)
		w.wire.session.Changed(peer.Connected)
		w.show("dog", 5*time.Second)
		require.Empty(w, of[message.Live](w.reader))
		w.log.setDown(nil)
		w.show("dog", 5*time.Second)
		require.Len(w, of[message.Live](w.reader), 1)
		require.NotEmpty(w, of[message.Result](w.reader))
		require.Equal(w, w.log.state.LiveAt.UnixMilli(), w.log.state.FirstFrameAt.UnixMilli(), "pictures came already")
		w.end()
		require.LessOrEqual(w, w.log.state.ClockMillis, int64(5000), "pictures before cost nothing")
		require.Greater(w, w.log.state.ClockMillis, int64(2000))
	})
}

// stuck is a recorder whose store is away.
type stuck struct{}

func (stuck) Push(assemble.Picture) {}

func (stuck) Close(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestTheLogStaysAway closes a host whose log and store do not come back.
func TestTheLogStaysAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := creation()
		c.Recording = true
		w := &world{T: t, log: newLedger(t, c, 1000), wire: &wire{}, model: &model{}}
		host := live.NewHost(live.Options{
			Peers: w.wire, Engine: w.model, Log: w.log, Windows: windows,
			Record: func(stream.State, live.Recording) (live.Recorder, error) { return stuck{}, nil },
		})
		host.SampleWith(newSamples)
		var err error
		w.session, err = host.Open(w.log.state)
		require.NoError(t, err)
		w.connect()
		w.show("dog", 6*time.Second)
		w.log.setDown(errDown)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, host.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, time.Since(began), "also the recorder is given up")
		require.True(t, w.over())
		require.True(t, w.wire.closed)
		require.Equal(t, stream.Live, w.log.state.Status, "another node ends it")
	})
}

// TestCloseWithoutStreams closes hosts when no time is left.
func TestCloseWithoutStreams(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.NoError(t, live.NewHost(live.Options{}).Close(over))
	}
}

// picky refuses some commands.
type picky struct {
	*ledger
	refuses func(stream.Command) bool
}

// Record implements live.Log.
func (l picky) Record(ctx context.Context, id string, c stream.Command) (stream.State, live.Funds, error) {
	if l.refuses(c) {
		return l.state, live.Funds{}, fault.New(fault.ResourceConflict, "")
	}
	return l.ledger.Record(ctx, id, c)
}

func TestTheLogRefuses(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]func(stream.Command) bool{
		"that the stream is live": func(c stream.Command) bool { _, is := c.(stream.GoLive); return is },
		"the reason of the end":   func(c stream.Command) bool { e, is := c.(stream.End); return is && e.Reason != stream.Failed },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &world{T: t, log: newLedger(t, creation(), 1000), wire: &wire{}}
				host := live.NewHost(live.Options{Peers: w.wire, Engine: &model{}, Log: picky{w.log, refuses}, Windows: windows})
				host.SampleWith(newSamples)
				var err error
				w.session, err = host.Open(w.log.state)
				require.NoError(t, err)
				_, err = w.session.Answer(t.Context(), "whip", "offer")
				require.NoError(t, err)
				w.wire.session.Changed(peer.Connected)
				synctest.Wait()
				w.wire.session.Changed(peer.Closed)
				w.wait(time.Second)
				w.log.ended(t, stream.Failed, 0, 0)
			})
		})
	}
}
