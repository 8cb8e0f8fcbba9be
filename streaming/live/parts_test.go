package live_test

import (
	"context"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/streaming/live"
	"vqa/streaming/message"
)

// next returns the message that waits in a subscription, or the error.
func next(t *testing.T, s *live.Subscription) (message.Server, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.Next(ctx)
}

func TestASlowSubscriberLosesTheOldestResults(t *testing.T) {
	t.Parallel()
	f := live.NewFanout()
	s := f.Subscribe(0)
	f.Send(message.Live{})
	for seq := range int64(3 * live.KeptResults) {
		f.Send(message.Result{Seq: seq + 1})
	}
	f.Send(message.ServerEnd{Reason: stream.Completed})
	f.Finish()
	m, err := next(t, s)
	require.NoError(t, err)
	require.Equal(t, message.Live{}, m)
	for seq := range int64(live.KeptResults) {
		m, err := next(t, s)
		require.NoError(t, err)
		require.Equal(t, message.Result{Seq: 2*live.KeptResults + seq + 1}, m)
	}
	m, err = next(t, s)
	require.NoError(t, err)
	require.Equal(t, message.ServerEnd{Reason: stream.Completed}, m)
	_, err = next(t, s)
	require.ErrorIs(t, err, io.EOF)
}

func TestASubscriberThatReadsNothingIsCutOff(t *testing.T) {
	t.Parallel()
	f := live.NewFanout()
	slow, other := f.Subscribe(0), f.Subscribe(0)
	for range 200 {
		f.Send(message.Metering{})
		_, err := next(t, other)
		require.NoError(t, err)
	}
	_, err := next(t, slow)
	require.ErrorIs(t, err, live.ErrSlow)
	slow.Close()
	_, err = next(t, slow)
	require.ErrorIs(t, err, live.ErrSlow)
}

func TestASubscriberComesBack(t *testing.T) {
	t.Parallel()
	f := live.NewFanout()
	f.Send(message.Live{})
	for seq := range int64(300) {
		f.Send(message.Result{Seq: seq + 1})
	}
	f.Send(message.Warning{})
	for _, tt := range []struct {
		after int64
		first int64
	}{{-1, 0}, {299, 300}, {250, 251}, {0, 300 - live.KeptResults + 1}, {300, 0}} {
		s := f.Subscribe(tt.after)
		m, err := next(t, s)
		require.NoError(t, err)
		require.Equal(t, message.Live{}, m, "a client learns that the stream is live")
		for seq := tt.first; seq > 0 && seq <= 300; seq++ {
			m, err := next(t, s)
			require.NoError(t, err)
			require.Equal(t, message.Result{Seq: seq}, m)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Next(ctx)
		require.ErrorIs(t, err, context.Canceled)
		s.Close()
	}
	f.Finish()
	_, err := next(t, f.Subscribe(300))
	require.NoError(t, err)
	f.Send(message.Result{Seq: 301})
	s := f.Subscribe(300)
	_, err = next(t, s)
	require.NoError(t, err)
	_, err = next(t, s)
	require.ErrorIs(t, err, io.EOF, "nothing follows the end")
}

func TestClock(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	c := &live.Clock{}
	check := func(now float64, running bool, total float64) {
		t.Helper()
		gotRunning, gotTotal := c.Read(at(now))
		require.Equal(t, running, gotRunning)
		require.InDelta(t, total, gotTotal.Seconds(), 1e-6)
	}
	check(0, false, 0)
	c.Frame(at(0))
	c.Frame(at(1))
	check(1, false, 0) // not live yet
	c.Allow(true, at(2.5))
	check(2.5, true, .001) // pictures before cost nothing, but a second has started
	require.Zero(t, c.At(at(1)))
	c.Frame(at(3.7))
	check(3.7, true, 1.2)
	check(5.7, true, 1.2) // a gap of exactly two seconds
	check(5.701, false, 1.2)
	c.Frame(at(8))
	check(8, true, 1.201)
	c.Frame(at(9))
	c.Frame(at(8.9)) // late
	check(9, true, 2.2)
	require.InDelta(t, 1.95, c.At(at(8.75)).Seconds(), 1e-6)
	require.InDelta(t, 1.2, c.At(at(3)).Seconds(), 1e-6, "a picture from before the gap")
	c.Frame(at(20)) // nothing read the clock in the gap
	c.Frame(at(21.5))
	check(21.5, true, 3.7)
	c.Stop()
	c.Frame(at(22))
	check(22, false, 3.7)

	late := &live.Clock{}
	late.Frame(at(0))
	late.Allow(true, at(3))
	running, _ := late.Read(at(3))
	require.False(t, running, "no picture arrives any more")
}

// TestClockOfRarePictures checks that a picture after each gap is not free: each of them gets a result.
func TestClockOfRarePictures(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := zero
	c := &live.Clock{}
	c.Allow(true, now)
	const pictures = 10
	for range pictures {
		now = now.Add(live.MaxGap + time.Millisecond)
		c.Frame(now)
	}
	running, total := c.Read(now.Add(live.MaxGap + time.Millisecond))
	require.False(t, running)
	require.Equal(t, pictures*time.Second, total, "a second for each start of the clock")
	require.Less(t, total, now.Sub(zero), "no more than the time that has passed")

	c.Frame(now.Add(time.Minute))
	c.Stop()
	_, total = c.Read(now.Add(time.Hour))
	require.Equal(t, pictures*time.Second+time.Millisecond, total, "the last second has started")
}

func TestAllowance(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := &live.Allowance{}
	taken := func(tries int) (n int) {
		for range tries {
			if a.Take(now) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 10, taken(100))
	now = now.Add(999 * time.Millisecond)
	require.Zero(t, taken(100))
	now = now.Add(3 * time.Second)
	require.Equal(t, 3, taken(100))
	now = now.Add(time.Hour)
	require.Equal(t, 10, taken(100), "it does not grow beyond the burst")
}

// every returns samples with a dog of a score, at regular times.
func every(stepS, fromS, toS, score float64) []evidence.Frame {
	var all []evidence.Frame
	for i := 0; fromS+float64(i)*stepS <= toS+1e-9; i++ {
		f := evidence.Frame{At: fromS + float64(i)*stepS}
		if score > 0 {
			f.Detections = []evidence.Detection{{Score: score, Box: evidence.Box{X1: .2, Y1: .2, X2: .5, Y2: .8}}}
		}
		all = append(all, f)
	}
	return all
}

func TestTheWindowHasTheStepOfUploads(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stepS    float64
		interval float64
		frames   []float64
		fine     int
	}{
		"5 per second": {.2, .5, []float64{8.5, 9, 9.5, 10}, 5},
		"4 per second": {.25, .5, []float64{8.5, 9, 9.5, 10}, 4},
		"2 per second": {.5, .5, []float64{8.5, 9, 9.5, 10}, 0},
		"a slow one":   {1, 1, []float64{9, 10}, 0},
		"a slower one": {2, .5, []float64{10}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := live.WindowOf(1.5, every(tt.stepS, 0, 10, .5)...)
			require.InDelta(t, tt.interval, ev.IntervalS, 1e-9)
			require.InDelta(t, 10, ev.DurationS, 1e-9)
			require.Len(t, ev.Frames, len(tt.frames))
			for i, f := range ev.Frames {
				require.InDelta(t, tt.frames[i], f.At, tt.stepS/2+1e-9)
			}
			require.InDelta(t, tt.fine, len(ev.Fine), 1)
		})
	}
	require.Empty(t, live.WindowOf(1.5).Frames)
	require.Len(t, live.WindowOf(1.5, every(.2, 3, 3, .5)...).Frames, 1)
	gap := live.WindowOf(1.5, append(every(.2, 0, 5, .5), every(.2, 9, 9.2, .5)...)...)
	require.Len(t, gap.Frames, 1, "what was before a gap is not now")
}

// TestTheWindowAnswers follows a dog that comes and goes, at the score that half of all dogs have.
func TestTheWindowAnswers(t *testing.T) {
	t.Parallel()
	q := english.Compile("Is there a dog?")
	all := append(every(.2, 0, 3.9, 0), append(every(.2, 4, 7.9, .4), every(.2, 8, 12, 0)...)...)
	first := map[answer.Answer]float64{}
	before := answer.Answer("")
	for i := range all {
		ev := live.WindowOf(1.5, all[:i+1]...)
		a := answer.Decide(q, ev, answer.CPU()).Answer
		if a != before && a != answer.Indeterminate {
			first[a] = ev.DurationS
		}
		before = a
	}
	require.InDelta(t, 4.5, first[answer.Yes], .2, "after two neighboring samples")
	require.InDelta(t, 9.5, first[answer.No], .31, "when the window shows it no longer")
}

func TestTheAnswerDoesNotFlicker(t *testing.T) {
	t.Parallel()
	const y, n, u = answer.Yes, answer.No, answer.Indeterminate
	at := []float64{0, .2, .4, .6, .8, 1, 1.2, 1.4, 1.6, 1.8, 2}
	for name, tt := range map[string]struct{ got, want []answer.Answer }{
		"the first one":        {[]answer.Answer{y}, []answer.Answer{y}},
		"one wrong result":     {[]answer.Answer{y, n, y, y}, []answer.Answer{y, y, y, y}},
		"two wrong results":    {[]answer.Answer{y, n, n, y}, []answer.Answer{y, y, y, y}},
		"a change":             {[]answer.Answer{y, n, n, n}, []answer.Answer{y, y, y, n}},
		"every other":          {[]answer.Answer{y, n, y, n, y, n}, []answer.Answer{y, y, y, y, y, y}},
		"by way of a doubt":    {[]answer.Answer{y, u, u, n, n, n}, []answer.Answer{y, y, y, n, n, n}},
		"nothing that lasts":   {[]answer.Answer{y, n, u, n, u, n}, []answer.Answer{y, y, y, n, n, n}},
		"a doubt":              {[]answer.Answer{y, u, u, u, u, u, u}, []answer.Answer{y, y, y, y, y, y, u}},
		"out of a doubt":       {[]answer.Answer{u, y, n, n, n}, []answer.Answer{u, y, y, y, n}},
		"a doubt, interrupted": {[]answer.Answer{y, u, u, u, u, y, u, u}, []answer.Answer{y, y, y, y, y, y, y, y}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, live.Shown(at, tt.got...))
		})
	}
	slow := []float64{0, 1, 2, 3.5}
	require.Equal(t, []answer.Answer{y, n, n, u}, live.Shown(slow, y, n, n, u), "each result of a slow engine counts")
}

func TestBoxes(t *testing.T) {
	t.Parallel()
	box := evidence.Box{X1: .1, Y1: .2, X2: .4, Y2: .6}
	near := evidence.Box{X1: .11, Y1: .2, X2: .4, Y2: .6}
	far := evidence.Box{X1: .6, Y1: -.1, X2: 1.2, Y2: .5}
	got := live.ShownDetections(english.Compile("Is there a dog next to a car?"), []string{"dog", "car", "truck", "cat"}, []evidence.Detection{
		{Term: 0, Score: .5, Box: box}, {Term: 0, Score: .8, Box: near}, {Term: 0, Score: .1, Box: far},
		{Term: 1, Score: .6, Box: far}, {Term: 2, Score: .7, Box: far}, {Term: 3, Score: .3, Box: box}, {Term: 9, Score: .9, Box: box},
	})
	require.Len(t, got, 2)
	require.InDelta(t, .86, got[1].Confidence, .1, "a cat at the place of the dog makes it less sure")
	require.Equal(t, []stream.Detection{
		{Term: "car", Confidence: answer.CPU().CapYes, Box: [4]float64{.6, 0, .4, .5}},
		{Term: "dog", Confidence: got[1].Confidence, Box: [4]float64{.11, .2, .29, .4}},
	}, got, "one box for each object, inside of the frame, of what the question names")
	many := make([]evidence.Detection, 300)
	for i := range many {
		many[i] = evidence.Detection{Score: .5, Box: evidence.Box{X1: float64(i) / 300, X2: float64(i+1) / 300, Y2: math.Nextafter(1, 0)}}
	}
	require.Len(t, live.ShownDetections(english.Compile("Is there a dog?"), []string{"dog"}, many), stream.MaxDetections)
}

// TestTheNarrativeGrows: a dog enters from the left, stays for longer than the teller looks back, and
// leaves.
func TestTheNarrativeGrows(t *testing.T) {
	t.Parallel()
	var samples []evidence.Frame
	for i := range 400 {
		atS := float64(i) / 5
		f := evidence.Frame{At: atS}
		x := -.3
		switch {
		case atS >= 10 && atS < 12:
			x = -.2 + (atS-10)*.3
		case atS >= 12 && atS < 60:
			x = .4
		case atS >= 60 && atS < 62:
			x = .4 + (atS-60)*.35
		}
		if x > -.3 {
			f.Detections = []evidence.Detection{{Score: .85, Box: evidence.Box{X1: max(x, 0), Y1: .4, X2: min(x+.2, 1), Y2: .8}}}
		}
		samples = append(samples, f)
	}
	told := live.Tell([]string{"dog"}, samples...)
	texts := map[string]int{}
	for i, u := range told {
		texts[u.Text]++
		if i > 0 {
			require.GreaterOrEqual(t, u.AtS+2, told[i-1].AtS, "about in order: %v", told)
		}
	}
	require.Equal(t, 1, texts["A dog enters from the left."], "%v", told)
	require.Equal(t, 1, texts["The dog leaves to the right."], "%v", told)
	require.Less(t, len(told), 7, "%v", told)
}

func TestWhatWaitsForTheLog(t *testing.T) {
	t.Parallel()
	k := live.NewClerk()
	k.Push(stream.Resume{})
	k.Try()
	for i := range int64(100) {
		k.Push(stream.Meter{ClockMillis: i})
		k.Push(stream.Meter{ClockMillis: i + 1})
		k.Push(stream.Pause{ClockMillis: i + 2})
		k.Push(stream.Resume{})
	}
	k.Push(stream.Meter{ClockMillis: 200})
	k.Push(stream.RecordPart{Part: stream.Part{Number: 1}})
	k.Push(stream.Meter{ClockMillis: 201})
	k.Push(stream.End{ClockMillis: 202})
	require.Equal(t, []stream.Command{
		stream.Resume{}, stream.Meter{ClockMillis: 200}, stream.RecordPart{Part: stream.Part{Number: 1}}, stream.End{ClockMillis: 202},
	}, k.Waiting())

	k = live.NewClerk()
	k.Push(stream.Pause{ClockMillis: 5})
	k.Try()
	k.Push(stream.Resume{})
	require.Equal(t, []stream.Command{stream.Pause{ClockMillis: 5}, stream.Resume{}}, k.Waiting(), "the log may have the pause")
}
