package answer_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// place is a box that overlaps no other place.
func place(i int) evidence.Box {
	x := float64(i%10) / 10
	return evidence.Box{X1: x, Y1: .1, X2: x + .08, Y2: .3}
}

// seen is evidence with 2 frames per second. Each frame has the scores of the class of the
// question, every one at its own place. All COCO classes are known.
func seen(prompt string, frames ...[]float64) (query.Query, evidence.Evidence) {
	q := english.Compile(prompt)
	ev := evidence.Evidence{Terms: vocabulary.COCO().Classes(q.SearchTerms...), IntervalS: .5, DurationS: float64(len(frames)) / 2}
	for _, term := range ev.Terms {
		_, known := vocabulary.COCO().Lookup(term)
		ev.Known = append(ev.Known, known)
	}
	for i, scores := range frames {
		f := evidence.Frame{At: float64(i) / 2}
		for k, s := range scores {
			f.Detections = append(f.Detections, evidence.Detection{Term: 0, Score: s, Box: place(k)})
		}
		ev.Frames = append(ev.Frames, f)
	}
	return q, ev
}

func decide(prompt string, frames ...[]float64) answer.Result {
	q, ev := seen(prompt, frames...)
	return answer.Decide(q, ev, answer.CPU())
}

func reason(r answer.Result) query.Reason {
	if r.IndeterminateReason == nil {
		return ""
	}
	return *r.IndeterminateReason
}

type frame = []float64

// evenly is the score of a dog that is a little less probable than not.
var evenly = .98 * answer.CPU().Even("dog")

func TestRule1IndeterminateHasNoConfidence(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]answer.Result{
		"unknown term":    decide("Is there a unicorn?", frame{}, frame{}),
		"no frames":       decide("Is there a dog?"),
		"even odds":       decide("Is there a dog?", frame{evenly}, frame{evenly}),
		"refused":         decide("Is the dog dancing?", frame{.9}, frame{.9}),
		"partly covered":  decide("Are there any animals?", frame{}, frame{}),
		"absence unclear": decide("Is there no dog?", frame{evenly}, frame{evenly}),
	} {
		require.Equal(t, answer.Indeterminate, r.Answer, name)
		require.Zero(t, r.Confidence, name)
		require.NotEmpty(t, reason(r), name)
		require.Empty(t, r.Clips, name)
	}
}

func TestRule2NoNeedsEvidence(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		got    answer.Result
		answer answer.Answer
		reason query.Reason
	}{
		{"known, examined, not detected", decide("Is there a dog?", frame{}, frame{.1}), answer.No, ""},
		{"unknown term", decide("Is there a unicorn?", frame{}, frame{}), answer.Indeterminate, query.NothingDetected},
		{"nothing examined", decide("Is there a dog?"), answer.Indeterminate, query.NothingDetected},
		{"classes cover the word in part", decide("Are there any animals?", frame{}, frame{}), answer.Indeterminate, query.NothingDetected},
		{"once", decide("Is there a dog?", frame{}, frame{.5}, frame{}), answer.Indeterminate, query.LowConfidence},
		{"even odds", decide("Is there a dog?", frame{}, frame{evenly}, frame{evenly}), answer.Indeterminate, query.LowConfidence},
	}
	for _, c := range cases {
		require.Equal(t, c.answer, c.got.Answer, c.name)
		require.Equal(t, c.reason, reason(c.got), c.name)
	}
	far, near := decide("Is there a dog?", frame{}, frame{}), decide("Is there a dog?", frame{.15}, frame{.15})
	require.Greater(t, far.Confidence, .9)
	require.Greater(t, far.Confidence, near.Confidence, "the confidence of a no falls as the best score nears the threshold")
	require.LessOrEqual(t, near.Confidence, answer.CPU().CapPrior, "only the prior speaks against the detection")
	require.Less(t, far.Confidence, 1.0, "a detector misses things; no `no` is certain")
}

func TestRule2AClassThatWasNotAskedForIsNotAbsent(t *testing.T) {
	t.Parallel()
	q, ev := seen("Is there a car?", frame{}, frame{})
	require.Equal(t, "truck", ev.Terms[1])
	require.Equal(t, answer.No, answer.Decide(q, ev, answer.CPU()).Answer)
	ev.Known[1] = false
	r := answer.Decide(q, ev, answer.CPU())
	require.Equal(t, answer.Indeterminate, r.Answer, "a car may be seen as a truck, which this model does not know")
	require.Equal(t, query.NothingDetected, reason(r))
}

func TestRule3TrueZeroIsNo(t *testing.T) {
	t.Parallel()
	r := decide("How many dogs are there?", frame{}, frame{})
	require.Equal(t, answer.No, r.Answer)
	require.Equal(t, 0, *r.DetectedCount)
	r = decide("Is there a dog?", frame{.8}, frame{.8})
	require.Nil(t, r.DetectedCount, "only count questions carry a count")
}

func TestRule4NothingDetectedForcesZero(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"How many unicorns are there?", "Are there at least 2 unicorns?", "Is there a unicorn?"} {
		r := decide(prompt, frame{}, frame{})
		require.Equal(t, query.NothingDetected, reason(r), prompt)
		require.NotNil(t, r.DetectedCount, prompt)
		require.Equal(t, 0, *r.DetectedCount, prompt)
	}
}

func TestRule5CountConfidenceIsOfTheExactNumber(t *testing.T) {
	t.Parallel()
	clear := decide("How many dogs are there?", frame{.8, .75}, frame{.8, .75})
	require.Equal(t, 2, *clear.DetectedCount)
	require.Equal(t, answer.Yes, clear.Answer)
	weak := decide("How many dogs are there?", frame{.8, .40}, frame{.8, .40})
	require.Equal(t, 2, *weak.DetectedCount)
	require.Less(t, weak.Confidence, clear.Confidence, "a doubtful instance makes the number doubtful")
	third := decide("How many dogs are there?", frame{.8, .75, .16}, frame{.8, .75, .16})
	require.Equal(t, 2, *third.DetectedCount)
	require.Less(t, third.Confidence, clear.Confidence, "so does an instance that was nearly counted")
	better := decide("How many dogs are there?", frame{.8, .40}, frame{.8, .40}, frame{.8, .75}, frame{.8, .75})
	require.Equal(t, clear.Confidence, better.Confidence, "the best place of the video counts")
}

func TestRule6ClipsOnlyWhereThereIsSomethingToShow(t *testing.T) {
	t.Parallel()
	dog := []frame{{.8}, {.8}, {}, {}, {}}
	require.Len(t, decide("Is there a dog?", dog...).Clips, 1)
	for _, prompt := range []string{
		"Is there a cat?", "Is there no dog?", "Is the cat absent from the video?",
		"How many dogs are there?", "Are there at least 1 dog?",
	} {
		_, ev := seen("Is there a dog?", dog...)
		r := answer.Decide(english.Compile(prompt), ev, answer.CPU())
		require.NotEqual(t, answer.Indeterminate, r.Answer, prompt)
		require.NotNil(t, r.Clips, prompt)
		require.Empty(t, r.Clips, prompt)
	}
}

func TestRule7RefusedAtOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]query.Reason{
		"Why is he sad?":           query.UnsupportedQueryForm,
		"Is there a fluffy cup?":   query.UnsupportedQueryForm,
		"Is the door open?":        query.UnsupportedQueryForm,
		"Is the person dancing?":   query.UnsupportedActionTerm,
		"Is the dog sitting?":      query.UnsupportedActionTerm,
		"When is someone dancing?": query.UnsupportedActionTerm,
	}
	for prompt, want := range cases {
		q := english.Compile(prompt)
		r := answer.Refused(q)
		require.Equal(t, answer.Indeterminate, r.Answer, prompt)
		require.Equal(t, want, reason(r), prompt)
		require.NotNil(t, r.UnsupportedAction, prompt)
		require.NotEmpty(t, r.UnsupportedAction.Reason, prompt)
		require.Equal(t, "/docs/questions#"+string(q.PromptIntent), r.UnsupportedAction.DocsURL)
		require.Empty(t, cmp.Diff(r, answer.Decide(q, evidence.Evidence{}, answer.CPU())), prompt)
	}
	require.Nil(t, decide("Is there a unicorn?", frame{}).UnsupportedAction)
	require.Nil(t, decide("Is there a dog?", frame{}).UnsupportedAction)
}

func TestRule8ObjectsDoNotNeedTheDuration(t *testing.T) {
	t.Parallel()
	q, ev := seen("Is there a dog?", frame{}, frame{.8}, frame{.8})
	ev.DurationS = 0
	r := answer.Decide(q, ev, answer.CPU())
	require.Equal(t, answer.Yes, r.Answer)
	require.Nil(t, r.VideoDurationS)
	require.Equal(t, []float64{.25, 1.25}, []float64{r.Clips[0].StartS, r.Clips[0].EndS})
}

func TestRule9ConfidenceFollowsTheCalibration(t *testing.T) {
	t.Parallel()
	last := 0.0
	for _, score := range []float64{.3, .35, .4, .5} {
		r := decide("Is there a dog?", frame{score}, frame{score})
		require.Equal(t, answer.Yes, r.Answer)
		require.Greater(t, r.Confidence, last)
		require.InDelta(t, min(answer.CPU().Probability("dog", score), answer.CPU().CapYes), r.Confidence, 1e-4)
		require.Equal(t, r.Confidence, r.TermConfidences["dog"])
		last = r.Confidence
	}
	require.GreaterOrEqual(t, decide("Is there a dog?", frame{.75}, frame{.75}).Confidence, .7)
}

func TestAbsenceNegatesTheAnswer(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"Is the dog absent from the video?", "Is there no dog?"} {
		there, away := decide(prompt, frame{.8}, frame{.8}), decide(prompt, frame{}, frame{})
		require.Equal(t, answer.No, there.Answer, prompt)
		require.Equal(t, answer.Yes, away.Answer, prompt)
		require.Equal(t, decide("Is there a dog?", frame{}, frame{}).Confidence, away.Confidence, prompt)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	three := []frame{{.6}, {.6, .6, .6}, {.6, .6, .6}, {.6, .6}}
	require.Equal(t, 3, *decide("How many dogs are there?", three...).DetectedCount)
	flash := []frame{{.5}, {.5, .5, .5}, {.5}}
	require.Equal(t, 1, *decide("How many dogs are there?", flash...).DetectedCount, "a number must hold over two samples")
	require.Equal(t, 2, *decide("How many dogs are there?", frame{.6, .6}).DetectedCount, "unless there is only one")
	require.Equal(t, 1, *decide("How many dogs are there?", frame{}, frame{.7}, frame{}).DetectedCount, "a count agrees with presence")
	cases := map[string]answer.Answer{
		"Are there at least 3 dogs?": answer.Yes, "Are there at least 4 dogs?": answer.No,
		"Are there more than 2 dogs?": answer.Yes, "Are there more than 3 dogs?": answer.No,
		"Are there fewer than 4 dogs?": answer.Yes, "Are there fewer than 3 dogs?": answer.No,
		"Are there at most 3 dogs?": answer.Yes, "Are there no more than 2 dogs?": answer.No,
		"Are there exactly 3 dogs?": answer.Yes, "Are there exactly 2 dogs?": answer.No, "Are there exactly 4 dogs?": answer.No,
		"Are there exactly 900 dogs?": answer.No, "Are there at least 0 dogs?": answer.Yes,
	}
	for prompt, want := range cases {
		r := decide(prompt, three...)
		require.Equal(t, want, r.Answer, prompt)
		require.Equal(t, 3, *r.DetectedCount, prompt)
		require.Greater(t, r.Confidence, .5, prompt)
	}
}

func TestClips(t *testing.T) {
	t.Parallel()
	x, o, w := frame{.8}, frame{}, frame{.3}
	cases := []struct {
		name     string
		frames   []frame
		duration float64
		want     [][2]float64
	}{
		{"edges lie between samples", []frame{o, o, x, x, o, o, o}, 3.5, [][2]float64{{.75, 1.75}}},
		{"the ends of the video close", []frame{x, x, x}, 1.7, [][2]float64{{0, 1.7}}},
		{"one missed sample is closed", []frame{x, o, x, o, o, o}, 3, [][2]float64{{0, 1.25}}},
		{"two are a gap", []frame{x, x, o, o, x, o, o}, 3.5, [][2]float64{{0, .75}, {1.75, 2.25}}},
		{"weak detections continue a strong one", []frame{o, o, w, x, x, w, o, o, o}, 4.5, [][2]float64{{.75, 2.75}}},
		{"clamped to the duration", []frame{o, o, o, x, x}, 2.1, [][2]float64{{1.25, 2.1}}},
		{"shorter than one interval", []frame{x}, .1, [][2]float64{{0, .1}}},
	}
	for _, c := range cases {
		q, ev := seen("Is there a dog?", c.frames...)
		ev.DurationS = c.duration
		var got [][2]float64
		for _, clip := range answer.Decide(q, ev, answer.CPU()).Clips {
			got = append(got, [2]float64{clip.StartS, clip.EndS})
			require.GreaterOrEqual(t, clip.Terms["dog"], clip.Confidence, c.name)
		}
		require.Equal(t, c.want, got, c.name)
	}
}

func TestAtMost500Clips(t *testing.T) {
	t.Parallel()
	var frames []frame
	for i := range 600 {
		score := .6
		if i < 100 {
			score = .4
		}
		frames = append(frames, frame{score}, frame{score}, frame{}, frame{}, frame{})
	}
	clips := decide("Is there a dog?", frames...).Clips
	require.Len(t, clips, answer.MaxClips)
	require.Greater(t, clips[0].StartS, 199.0, "the least confident clips are left out")
}

func TestMalformedEvidenceIsIgnored(t *testing.T) {
	t.Parallel()
	q, ev := seen("Is there a dog?", frame{.8}, frame{.8})
	clean := answer.Decide(q, ev, answer.CPU())
	ev.Frames = append(ev.Frames, evidence.Frame{At: math.NaN()}, evidence.Frame{At: math.Inf(1)}, evidence.Frame{At: -1})
	for i := range ev.Frames {
		ev.Frames[i].Detections = append(ev.Frames[i].Detections,
			evidence.Detection{Term: -1, Score: 1}, evidence.Detection{Term: 1 << 30, Score: 1},
			evidence.Detection{Term: 0, Score: math.NaN()}, evidence.Detection{Term: 0, Score: -3})
	}
	require.Empty(t, cmp.Diff(clean, answer.Decide(q, ev, answer.CPU())))
	ev.Known = nil
	require.Equal(t, answer.Indeterminate, answer.Decide(q, ev, answer.CPU()).Answer)
}

func TestResultJSON(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(decide("Is there a dog?", frame{.75}, frame{.75}))
	require.NoError(t, err)
	require.JSONEq(t, `{"answer":"yes","confidence":0.97,
		"clips":[{"start_s":0,"end_s":1,"confidence":0.97,"terms":{"dog":0.97}}],
		"term_confidences":{"dog":0.97},"query_type":"object","video_duration_s":1,"detected_count":null,
		"indeterminate_reason":null}`, string(raw))
	raw, err = json.Marshal(answer.Refused(english.Compile("Why is he sad?")))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"unsupported_action":{"reason":`)
	require.Contains(t, string(raw), `"clips":[]`)
}
