package sampling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
	"vqa/domain/sampling"
)

// surveyOf is a survey of dogs and cats with one frame every stepS seconds. scores are those
// of the dog in each; 0 is a frame without a detection.
func surveyOf(stepS float64, scores ...float64) sampling.Survey {
	ev := evidence.Evidence{Terms: []string{"dog", "cat"}, Known: []bool{true, true}, IntervalS: sampling.BaseStepS}
	for i, score := range scores {
		f := evidence.Frame{At: float64(i) * stepS}
		if score > 0 {
			f.Detections = []evidence.Detection{{Term: 0, Score: score, Box: evidence.Box{X1: .1, Y1: .1, X2: .4, Y2: .4}}}
		}
		ev.Frames = append(ev.Frames, f)
	}
	ev.DurationS = float64(len(scores)) * stepS
	s := sampling.Survey{StepS: stepS, DecodedS: ev.DurationS, Evidence: ev}
	s.For = func([]string) evidence.Evidence { return s.Evidence }
	return s
}

func TestScanStep(t *testing.T) {
	t.Parallel()
	short, long := 600.0, 600.1
	require.InDelta(t, sampling.BaseStepS, sampling.ScanStep(nil), 0)
	require.InDelta(t, sampling.BaseStepS, sampling.ScanStep(&short), 0)
	require.InDelta(t, sampling.CoarseStepS, sampling.ScanStep(&long), 0)
}

func TestCloseUpsSurroundHints(t *testing.T) {
	t.Parallel()
	cal := answer.CPU()
	plan := sampling.For(english.Compile("Is there a dog?"), cal.Vocabulary)
	require.Equal(t, []string{"dog"}, plan.Own)
	hint := sampling.HintScore(cal)
	require.Empty(t, plan.CloseUps(surveyOf(2, 0, hint-.01, 0), cal))
	require.Equal(t, []float64{.5, 1, 1.5, 2, 2.5, 3, 3.5}, plan.CloseUps(surveyOf(2, 0, hint, 0), cal))
	require.Equal(t, []float64{.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5}, plan.CloseUps(surveyOf(2, 0, hint, hint), cal), "each instant once")
	require.Equal(t, []float64{0, .5, 1, 1.5}, plan.CloseUps(surveyOf(2, hint), cal), "not beyond the ends of the video")
}

func TestEdgesAreFine(t *testing.T) {
	t.Parallel()
	cal := answer.CPU()
	plan := sampling.For(english.Compile("Is there a dog?"), cal.Vocabulary)
	s := surveyOf(.5, 0, .9, .9, 0, 0)
	require.Equal(t, []float64{.125, .25, .375, 1.125, 1.25, 1.375}, plan.Fine(s, s.Evidence, cal))
}

func TestSplit(t *testing.T) {
	t.Parallel()
	on, off := sampling.Split([]float64{0, .5, 2, 2.125}, 2)
	require.Equal(t, []float64{0, 2}, on)
	require.Equal(t, []float64{.5, 2.125}, off)
}

func TestForOpinion(t *testing.T) {
	t.Parallel()
	v := vocabulary.COCO()
	q := english.Compile("Is there a dog?")
	none := surveyOf(.5, make([]float64, 9)...).Evidence
	at, stepS := sampling.ForOpinion(q, none, v, 3)
	require.Equal(t, []float64{0, 2, 4}, at, "evenly spread where nothing was detected")
	require.InDelta(t, 2, stepS, 0)
	some := surveyOf(.5, 0, .1, .1, 0, 0, 0, 0, .1, 0).Evidence
	at, stepS = sampling.ForOpinion(q, some, v, 8)
	require.Equal(t, []float64{.5, 1, 3.5}, at, "the samples that may show the dog")
	require.InDelta(t, .5, stepS, 0)
	at, _ = sampling.ForOpinion(q, evidence.Evidence{}, v, 8)
	require.Empty(t, at)
}

func box(term int, score, x float64) evidence.Detection {
	return evidence.Detection{Term: term, Score: score, Box: evidence.Box{X1: x, Y1: .1, X2: x + .3, Y2: .4}}
}

func TestAgainAddsWhatNothingOutscores(t *testing.T) {
	t.Parallel()
	turned := func(d evidence.Detection) evidence.Detection {
		d.Turned = true
		return d
	}
	upright := []evidence.Detection{box(0, .2, .1), turned(box(1, .9, .6))}
	got := sampling.Again(upright, []evidence.Detection{
		box(0, .5, .1), box(1, .45, .1), // the dog outscores the cat at its place
		box(1, .39, .6), // too weak
		box(0, .2, .1),
	})
	require.Equal(t, []evidence.Detection{box(0, .2, .1), turned(box(0, .5, .1))}, got)
	require.Equal(t, []evidence.Detection{box(0, .8, .1)}, sampling.Again([]evidence.Detection{box(0, .8, .1)}, []evidence.Detection{box(0, .7, .1)}), "seen before")
}

// TestSecondLookIsOfTheQuestion hides what turned views show at instants and of classes that are not in doubt.
func TestSecondLookIsOfTheQuestion(t *testing.T) {
	t.Parallel()
	cal := answer.CPU()
	plan := sampling.For(english.Compile("Is there a dog?"), cal.Vocabulary)
	doubtful := .8 * cal.Even("dog")
	s := surveyOf(.5, 0, doubtful, doubtful, 0)
	require.Equal(t, []float64{.5, 1}, plan.Again(s, cal))
	require.Empty(t, plan.Again(surveyOf(.5, 0, .9, .9, .9), cal), "no doubt")
	require.Empty(t, plan.Again(surveyOf(.5, 0, 0, 0, 0), cal), "no hint")
	person := sampling.For(english.Compile("Is there a person?"), cal.Vocabulary)
	require.Empty(t, person.Again(s, cal))

	before := answer.Decide(plan.Query, plan.Evidence(s, cal), cal)
	require.NotEqual(t, answer.Yes, before.Answer)
	for i := range s.Evidence.Frames {
		f := &s.Evidence.Frames[i]
		f.Detections = sampling.Again(f.Detections, []evidence.Detection{box(0, .9, .1), box(1, .9, .6)})
	}
	ev := plan.Evidence(s, cal)
	require.Equal(t, answer.Yes, answer.Decide(plan.Query, ev, cal).Answer)
	for i, want := range []int{0, 2, 2, 0} {
		require.Len(t, ev.Frames[i].Load(true).Detections, want)
	}
	require.Equal(t, []float64{.5, 1}, plan.Again(s, cal), "a second look needs no third one")
}
