package live_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/message"
)

// oldest is the largest age of what an answer may rest on: the window, and the time for which the shown answer stays.
const oldest = 2300 * time.Millisecond

// scene says when a dog is visible. It is there at first, and appears or leaves after each of the times.
type scene []time.Duration

// shows reports whether the dog is visible at a time of the clock.
func (s scene) shows(at time.Duration) bool {
	visible := true
	for _, change := range s {
		if at >= change {
			visible = !visible
		}
	}
	return visible
}

// last returns the latest change until a time.
func (s scene) last(at time.Duration) time.Duration {
	latest := -oldest
	for _, change := range s {
		if change <= at {
			latest = change
		}
	}
	return latest
}

// check compares a result with the scene. It reports whether the scene had been the same for so long that only one
// answer is right.
func (s scene) check(t testing.TB, r message.Result) (settled bool) {
	t.Helper()
	at := time.Duration(r.AtS * float64(time.Second)).Round(time.Millisecond)
	visible, since := s.shows(at), at-s.last(at)
	require.Equal(t, visible, len(r.Detections) == 1, "the boxes are those of the sample at %v", at)
	if since < oldest {
		return false
	}
	want := answer.No
	if visible {
		want = answer.Yes
	}
	require.Equal(t, want, r.Answer, "result %d at %v, %v after the last change", r.Seq, at, since)
	return true
}

// TestAnswersAreNeverOld shows a dog that comes and goes, to engines of any speed.
func TestAnswersAreNeverOld(t *testing.T) {
	t.Parallel()
	dog := scene{8 * time.Second, 16 * time.Second, 26 * time.Second, 27 * time.Second, 36 * time.Second}
	for _, took := range []time.Duration{50, 300, 600, 900, 1200, 1700, 2300, 3000, 4000} {
		took *= time.Millisecond
		t.Run(took.String(), func(t *testing.T) {
			t.Parallel()
			run(t, creation(), 1000, func(w *world) {
				w.model.took = took
				w.connect()
				const pictures = 45 * 5
				for i := range time.Duration(pictures) {
					at, shown := i*time.Second/5, ""
					if dog.shows(at) {
						shown = "dog"
					}
					w.wire.session.Picture(assemble.Picture{Data: []byte(shown), At: time.Now()})
					time.Sleep(time.Second / 5)
				}
				settled := map[time.Duration]bool{} // by the change before
				for _, r := range of[message.Result](w.reader) {
					if dog.check(w, r) {
						settled[dog.last(time.Duration(r.AtS*float64(time.Second)))] = true
					}
				}
				// One second is too short for a slow engine to see.
				require.Len(w, settled, 5, "each change was followed: %v", settled)
				for _, late := range w.reader.delays() {
					require.Less(w, late, took+100*time.Millisecond, "the newest sample goes to the engine")
				}
				w.end()
			})
		})
	}
}

// TestAnAnswerEndsWithAPause: no picture comes for a minute, and the dog has left. The clock stood, so the
// samples before are no older than a moment on it.
func TestAnAnswerEndsWithAPause(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 5*time.Second)
		time.Sleep(time.Minute)
		n := len(of[message.Result](w.reader))
		w.show("", time.Second)
		after := of[message.Result](w.reader)[n:]
		require.NotEmpty(w, after)
		for _, r := range after {
			require.Equal(w, answer.No, r.Answer, "%+v", r)
			require.InDelta(w, 5, r.AtS, 2, "the pause is not part of the clock")
		}
		w.end()
	})
}

// TestAnAnswerEndsWithTheEngine: the engine is away while the dog leaves.
func TestAnAnswerEndsWithTheEngine(t *testing.T) {
	t.Parallel()
	run(t, creation(), 1000, func(w *world) {
		w.connect()
		w.show("dog", 5*time.Second)
		w.model.setAway(errors.New("away"))
		w.show("", 10*time.Second)
		n := len(of[message.Result](w.reader))
		w.model.setAway(nil)
		w.show("", 5*time.Second)
		after := of[message.Result](w.reader)[n:]
		require.NotEmpty(w, after)
		for _, r := range after {
			require.Equal(w, answer.No, r.Answer, "%+v", r)
		}
		w.end()
	})
}

// TestASlowEngineOnACamera is TestAnswersAreNeverOld with a real sender and a real ffmpeg.
func TestASlowEngineOnACamera(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{1300 * time.Millisecond, 2300 * time.Millisecond} {
		t.Run(took.String(), func(t *testing.T) {
			t.Parallel()
			g := newStage(t, creation())
			g.eye.took = took
			g.camera.offer(t, g.session, false)
			g.waitAnswer("yes")
			for _, tt := range []struct {
				dark bool
				want answer.Answer
			}{{true, answer.No}, {false, answer.Yes}, {true, answer.No}} {
				changed := g.session.State().LiveAt
				require.NotNil(t, changed)
				at := time.Since(*changed)
				g.camera.showsDark.Store(tt.dark)
				before := g.last().Seq
				g.waitAnswer(string(tt.want))
				for _, r := range of[message.Result](g.reader)[before:] {
					// The clock starts with the first picture, soon after the stream is live.
					late := time.Duration(r.AtS*float64(time.Second)) - at
					require.False(t, r.Answer != tt.want && late > oldest, fmt.Sprintf("%+v comes %v after the change", r, late))
				}
			}
			require.NoError(t, g.session.End(t.Context()))
		})
	}
}

// TestQuestionsThatCannotBeAssessed get one result a second that says why, without the engine. The clock stands, and
// nothing is billed, until the question changes.
func TestQuestionsThatCannotBeAssessed(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]query.Reason{
		"Why is the sky blue?": query.UnsupportedQueryForm, "Is the dog barking?": query.UnsupportedQueryForm,
		"Is there a unicorn?": query.NothingDetected, "Is there a unicorn or a dragon?": query.NothingDetected,
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			c := creation()
			c.Prompt, c.Query = &prompt, english.Compile(prompt)
			run(t, c, 1000, func(w *world) {
				w.session.Left() // an encoder has no socket
				w.connect()
				for range 2 {
					n, calls, clock := len(of[message.Result](w.reader)), len(w.model.requests), w.session.State().ClockMillis
					w.show("dog", 40*time.Second) // longer than the grace window and the first-frame window
					refused := of[message.Result](w.reader)[n:]
					require.InDelta(w, 40, len(refused), 1)
					for _, r := range refused {
						require.EqualValues(w, answer.Indeterminate, r.Answer)
						require.Equal(w, want, *r.IndeterminateReason)
						require.Equal(w, want != query.NothingDetected, r.UnsupportedAction != nil)
						if r.UnsupportedAction != nil {
							require.True(w, strings.HasPrefix(r.UnsupportedAction.DocsURL, "https://vqa.example/docs/questions"), r.UnsupportedAction.DocsURL)
						}
						require.InDelta(w, float64(clock)/1000, r.AtS, .2)
					}
					require.Len(w, w.model.requests, calls)
					require.InDelta(w, clock, w.session.State().ClockMillis, 100)
					require.NoError(w, w.session.UpdatePrompt(w.Context(), "Is there a dog?"))
					w.show("dog", 5*time.Second)
					all := of[message.Result](w.reader)
					require.EqualValues(w, answer.Yes, all[len(all)-1].Answer)
					require.Nil(w, all[len(all)-1].IndeterminateReason)
					require.NoError(w, w.session.UpdatePrompt(w.Context(), prompt))
					synctest.Wait()
				}
				w.show("dog", 5*time.Second)
				metered := of[message.Metering](w.reader)
				require.EqualValues(w, 10, metered[len(metered)-1].BilledSeconds)
				w.end()
				st := w.log.ended(w, stream.Completed, 9850, 10)
				require.Equal(w, want, *st.Summary.LastDetections[stream.MaxLastDetections-1].IndeterminateReason)
			})
		})
	}
}
