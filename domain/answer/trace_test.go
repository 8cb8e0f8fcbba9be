package answer_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
)

// TestTracesTellTheResult checks over evidence of every shape that a trace has the answer of Decide, that
// it is valid JSON, and that its parts fit together.
func TestTracesTellTheResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := english.Compile(rapid.SampledFrom(prompts).Draw(t, "prompt"))
		ev := evidences(t, q)
		trace, result := answer.Explain(q, ev, answer.CPU()), answer.Decide(q, ev, answer.CPU())
		require.Equal(t, result.Answer, trace.Answer)
		require.InDelta(t, result.Confidence, trace.Confidence, 0)
		require.NotEmpty(t, trace.Ruling.Text)
		_, err := json.Marshal(trace)
		require.NoError(t, err)
		for _, s := range trace.Statements {
			require.Len(t, s.Series, len(trace.Times))
			for _, p := range append(s.Series, s.Best.Probability) {
				unit(t, p)
			}
		}
		require.Less(t, trace.Ruling.Statement, max(1, len(trace.Statements)))
		for _, thing := range trace.Things {
			for _, track := range thing.Tracks {
				for i, b := range track {
					unit(t, b.Score)
					unit(t, b.Probability)
					unit(t, b.Fit)
					require.LessOrEqual(t, b.Fit, b.Probability+1e-3)
					require.Less(t, b.Frame, len(trace.Times))
					require.True(t, i == 0 || b.Frame > track[i-1].Frame, "a track has one box in a frame")
				}
			}
		}
	})
}

func explain(prompt string, frames ...[]float64) answer.Trace {
	q, ev := seen(prompt, frames...)
	return answer.Explain(q, ev, answer.CPU())
}

func TestTracesNameWhatDecided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trace             answer.Trace
		statement, reason string
		bound             string
	}{
		{explain("Is there a dog?", frame{.9}, frame{.9}, frame{.9}), "a dog", "yes", ""},
		{explain("Is there a dog?", frame{}, frame{}, frame{}), "a dog", "yes", "cap_no"},
		{explain("Is there no dog?", frame{}, frame{}, frame{}), "a dog", "yes", "cap_no"},
		{explain("How many dogs are there?", frame{.9, .9}, frame{.9, .9}, frame{.9, .9}), "at least 2 at the same time", "yes", ""},
		{explain("Are there at least 3 dogs?", frame{.9, .9}, frame{.9, .9}, frame{.9, .9}), "at least 3 at the same time", "yes", "cap_no"},
		{explain("Are there fewer than 2 dogs?", frame{.9, .9}, frame{.9, .9}, frame{.9, .9}), "at least 2 at the same time", "yes", ""},
		{explain("Is there a dog and a cat?", frame{.9}, frame{.9}, frame{.9}), "a dog and a cat", "yes", "cap_no"},
		{explain("Is there a dog but no cat?", frame{}, frame{}, frame{}), "a dog", "yes", "cap_no"},
		{explain("Is there a dog?", frame{evenly}, frame{evenly}, frame{evenly}), "a dog", "doubt", ""},
	} {
		r := c.trace.Ruling
		require.GreaterOrEqual(t, r.Statement, 0)
		require.Equal(t, c.statement, c.trace.Statements[r.Statement].Text, r.Text)
		require.Equal(t, c.reason, r.Decided.Name, r.Text)
		if c.bound != "" {
			require.NotNil(t, r.Bounded, r.Text)
			require.Equal(t, c.bound, r.Bounded.Name)
			require.Contains(t, r.Text, c.bound)
		}
		require.Contains(t, r.Text, c.reason)
	}
}

// TestTracesOfConditionsNameTheWeakestPart: the dog is sure, and it does not leave.
func TestTracesOfConditionsNameTheWeakestPart(t *testing.T) {
	t.Parallel()
	trace := explain("Does the dog leave to the right?", frame{.9}, frame{.9}, frame{.9}, frame{.9})
	var texts []string
	for _, s := range trace.Statements {
		texts = append(texts, s.Text)
	}
	require.Equal(t, []string{"a dog leaving toward right", "dog", "leaving toward right"}, texts)
	require.Equal(t, "leaving toward right", trace.Ruling.Weakest)
	require.Greater(t, trace.Statements[1].Best.Probability, .9)
	require.Less(t, trace.Statements[2].Best.Probability, .1)
	require.Len(t, trace.Things[0].Tracks, 1)
	require.Len(t, trace.Things[0].Tracks[0], 4)
	require.Greater(t, trace.Things[0].Tracks[0][0].Probability, .9)
	require.Less(t, trace.Things[0].Tracks[0][0].Fit, .1)
}

// TestTracesAreBounded: a long video keeps the frame that decides, and few boxes.
func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	frames := make([][]float64, 9_001)
	for i := range frames {
		for range 30 {
			frames[i] = append(frames[i], .2+.1*float64(i%2))
		}
	}
	frames[7_003], frames[7_004], frames[7_005] = frame{.95}, frame{.95}, frame{.95}
	trace := explain("Is there a dog?", frames...)
	require.Equal(t, len(frames), trace.Frames)
	require.LessOrEqual(t, len(trace.Times), answer.MaxTracedFrames)
	require.InDelta(t, 3502, trace.Ruling.At.StartS, 1)
	series := trace.Statements[trace.Ruling.Statement].Series
	highest := 0
	for i, p := range series {
		if p > series[highest] {
			highest = i
		}
	}
	require.InDelta(t, 3502, trace.Times[highest], 1, "the frame that decided is kept")
	boxes := 0
	for _, thing := range trace.Things {
		require.LessOrEqual(t, len(thing.Tracks), answer.MaxTracedTracks)
		for _, track := range thing.Tracks {
			boxes += len(track)
		}
	}
	require.Positive(t, boxes)
	require.LessOrEqual(t, boxes, answer.MaxTracedBoxes)
	raw, err := json.Marshal(trace)
	require.NoError(t, err)
	require.Less(t, len(raw), 3_000_000)
}

// TestTracesShowTheOtherObject: the boxes of the thing that a condition names belong to the evidence.
func TestTracesShowTheOtherObject(t *testing.T) {
	t.Parallel()
	q := english.Compile("Is a person riding a horse?")
	ev := evidence.Evidence{Terms: []string{"person", "horse"}, Known: []bool{true, true}, IntervalS: .5, DurationS: 2}
	for i := range 4 {
		ev.Frames = append(ev.Frames, evidence.Frame{At: float64(i) / 2, Detections: []evidence.Detection{
			{Term: 0, Score: .9, Box: evidence.Box{X1: .4, Y1: .2, X2: .5, Y2: .6}},
			{Term: 1, Score: .9, Box: evidence.Box{X1: .3, Y1: .4, X2: .6, Y2: .9}},
		}})
	}
	trace := answer.Explain(q, ev, answer.CPU())
	require.Len(t, trace.Things, 2)
	require.Equal(t, "horse", trace.Things[1].Text)
	require.Len(t, trace.Things[1].Tracks, 1)
}
