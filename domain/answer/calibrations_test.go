package answer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

const measured = `[{"weights":"owlv2@0123456789ab","curve":[[0,0.02],[0.2,0.5],[1,0.99]],"threshold":0.2,"keep":0.15,"further":0.05,"flash":0.3,"peak":0.5}]`

func TestCalibrationFollowsTheWeights(t *testing.T) {
	t.Parallel()
	all, err := answer.ParseCalibrations([]byte(measured))
	require.NoError(t, err)

	embedded := all.For(answer.CPUWeights, vocabulary.COCO().Names())
	require.InDelta(t, answer.CPU().Probability(.5), embedded.Probability(.5), 1e-9)
	require.True(t, embedded.Vocabulary.Narrower("woman"))

	open := all.For("owlv2@0123456789ab", nil)
	require.InDelta(t, .5, open.Probability(.2), 1e-9)
	require.InDelta(t, .2, open.Threshold, 1e-9)
	require.InDelta(t, answer.CPU().Overlap, open.Overlap, 1e-9)
	require.True(t, open.Vocabulary.Open())

	require.Empty(t, cmp.Diff(answer.Unmeasured().Curve, answer.Calibrations(nil).For("another", nil).Curve))
}

func TestUnmeasuredClaimsLittle(t *testing.T) {
	t.Parallel()
	cal := answer.Unmeasured()
	last := 0.0
	for score := 0.0; score <= 1; score += .01 {
		p := cal.Probability(score)
		require.GreaterOrEqual(t, p, last)
		require.Less(t, p, .7, "marginal, not reliable")
		require.Less(t, 1-p, .7)
		last = p
	}
	// "lighthouse" is not a class of the embedded model. An open model looks for any term.
	q := query.Compile("Is there a lighthouse?")
	for _, c := range []struct {
		score float64
		want  answer.Answer
	}{{.9, answer.Yes}, {0, answer.No}, {.28, answer.Indeterminate}} {
		ev := evidence.Evidence{Terms: cal.Vocabulary.Classes(q.SearchTerms...), Known: []bool{true}, IntervalS: .5, DurationS: 3}
		for i := range 6 {
			f := evidence.Frame{At: float64(i) / 2}
			f.Detections = append(f.Detections, evidence.Detection{Score: c.score, Box: at(.5, .5)})
			ev.Frames = append(ev.Frames, f)
		}
		r := answer.Decide(q, ev, cal)
		require.Equal(t, c.want, r.Answer, "%v", c.score)
		require.Less(t, r.Confidence, .7)
		if c.want != answer.Indeterminate {
			require.Greater(t, r.Confidence, .6)
		}
	}
}

func TestCalibrationsAreChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"no list":                 {measured, `{}`},
		"more than a list":        {`]`, `] []`},
		"unknown field":           {`"keep"`, `"kep"`},
		"missing":                 {`"flash":0.3,`, ``},
		"no name":                 {`owlv2@0123456789ab`, ``},
		"keep over all":           {`"keep":0.15`, `"keep":0.25`},
		"peak under flash":        {`"peak":0.5`, `"peak":0.25`},
		"peak beyond":             {`"peak":0.5`, `"peak":1.5`},
		"further negative":        {`"further":0.05`, `"further":-1`},
		"certainty":               {`[1,0.99]`, `[1,1]`},
		"falling":                 {`[0.2,0.5]`, `[0.2,0.01]`},
		"scores that do not rise": {`[0.2,0.5]`, `[0,0.5]`},
		"cut short":               {`,[1,0.99]`, ``},
		"one point":               {`[0,0.02],[0.2,0.5],`, ``},
		"text":                    {`0.15`, `"0.15"`},
		"twice":                   {measured, strings.TrimSuffix(measured, "]") + "," + strings.TrimPrefix(measured, "[")},
	} {
		raw := strings.Replace(measured, change[0], change[1], 1)
		require.NotEqual(t, measured, raw, name)
		_, err := answer.ParseCalibrations([]byte(raw))
		require.Error(t, err, name)
	}
}

// TestFreeTermsMayNameOneThing: classes outvote each other at one place, free terms do not.
func TestFreeTermsMayNameOneThing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		classes []string
		want    answer.Answer
	}{
		"an open model": {nil, answer.Yes},
		"classes":       {[]string{"person", "woman"}, answer.No},
	} {
		q := query.Compile("Is there a woman?")
		ev := evidence.Evidence{Terms: []string{"woman", "person"}, Known: []bool{true, true}, IntervalS: .5, DurationS: 3}
		for i := range 6 {
			ev.Frames = append(ev.Frames, evidence.Frame{At: float64(i) / 2, Detections: []evidence.Detection{
				{Term: 0, Score: .5, Box: at(.5, .5)}, {Term: 1, Score: .9, Box: at(.5, .5)},
			}})
		}
		require.Equal(t, tt.want, answer.Decide(q, ev, answer.Calibrations{"w": answer.CPU()}.For("w", tt.classes)).Answer, name)
	}
}

// TestNothingUnmeasuredIsReliable checks the bound on random evidence and questions.
func TestNothingUnmeasuredIsReliable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := query.Compile(rapid.SampledFrom(prompts).Draw(t, "prompt"))
		ev := evidences(t, q)
		r := answer.Decide(q, ev, answer.Calibrations(nil).For("unknown", vocabulary.COCO().Names()))
		require.Less(t, r.Confidence, .7, "%v: %+v", q.OriginalPrompt, ev)
	})
}
