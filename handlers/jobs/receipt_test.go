package jobs_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/query/english"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/survey"
)

// TestReceipt: a first scan, the stored survey, and a second scan lead to the same result,
// bit for bit. The receipt lists every frame.
func TestReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &gpufixture.Engine{Detections: seen}
	z := w.analyzer(engine)
	v := w.readyVideo(t, shortClip)
	ask := func() *answer.Result {
		run := w.ask(t, v)
		require.NoError(t, z.Run(t.Context(), run))
		return w.analysis(t, run).Result
	}
	first, kept := ask(), ask()
	looked := len(engine.Calls())
	require.NoError(t, w.objects.Delete(t.Context(), survey.Key(v.ID)))
	again := ask()
	require.Greater(t, len(engine.Calls()), looked)
	require.Empty(t, cmp.Diff(first, kept))
	require.Empty(t, cmp.Diff(first, again))

	info, err := engine.Info(t.Context())
	require.NoError(t, err)
	r := first.Receipt
	require.Equal(t, "sight-1", r.Model.ID)
	require.Equal(t, info.Name, *r.Model.Name)
	require.Equal(t, info.Weights, *r.Model.Weights)
	require.Equal(t, "sha256:"+query.Digest(english.Compile("Is there a stop sign?")), r.QueryDigest)
	require.Nil(t, r.SecondOpinion)
	var times []float64
	for _, run := range r.Sampled {
		for i := range run.Count {
			times = append(times, math.Round((run.StartS+float64(i)*run.StepS)*1e3)/1e3)
		}
	}
	require.Len(t, times, r.Frames)
	for i := range shortS * framesPerS {
		require.Contains(t, times, float64(i)/framesPerS)
	}
}
