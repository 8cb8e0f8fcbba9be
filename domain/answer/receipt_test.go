package answer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// TestRunsTellEveryTime checks that random times, in milliseconds, come back exactly.
func TestRunsTellEveryTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var times []float64
		at := rapid.Int64Range(0, 20_000_000).Draw(t, "start")
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			step := rapid.Int64Range(0, 2000).Draw(t, "step")
			for range rapid.IntRange(1, 8).Draw(t, "count") {
				times = append(times, float64(at)/1e3)
				at += step
			}
		}
		runs := answer.Runs(times)
		require.Equal(t, times, slices.Concat(timesOf(runs)))
		for _, r := range runs {
			require.Positive(t, r.Count)
			require.True(t, r.Count > 1 || r.StepS == 0, "a run of one has a step")
		}
		require.LessOrEqual(t, len(runs), len(times))
	})
}

// timesOf are the times of some series, in seconds.
func timesOf(runs []answer.SampleRun) []float64 {
	times := []float64{}
	for _, r := range runs {
		for i := range r.Count {
			times = append(times, math.Round((r.StartS+float64(i)*r.StepS)*1e3)/1e3)
		}
	}
	return times
}

func TestRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		times []float64
		want  []answer.SampleRun
	}{
		"none":             {nil, []answer.SampleRun{}},
		"one":              {[]float64{1.5}, []answer.SampleRun{{1.5, 0, 1}}},
		"a video":          {[]float64{0, .5, 1, 1.5, 2}, []answer.SampleRun{{0, .5, 5}}},
		"a finer step":     {[]float64{0, .5, 1, 1.1, 1.2, 1.3}, []answer.SampleRun{{0, .5, 3}, {1.1, .1, 3}}},
		"a gap":            {[]float64{0, 30, 60, 60.5, 61}, []answer.SampleRun{{0, 30, 3}, {60.5, .5, 2}}},
		"an early single":  {[]float64{.1, .5, 1, 1.5}, []answer.SampleRun{{.1, 0, 1}, {.5, .5, 3}}},
		"rounded to a ms":  {[]float64{0, 1. / 3, 2. / 3}, []answer.SampleRun{{0, .333, 2}, {.667, 0, 1}}},
		"the same instant": {[]float64{2, 2}, []answer.SampleRun{{2, 0, 2}}},
	} {
		require.Empty(t, cmp.Diff(tt.want, answer.Runs(tt.times)), name)
	}
	day := make([]float64, 4*3600*2)
	for i := range day {
		day[i] = float64(i) / 2
	}
	require.Len(t, answer.Runs(day), 1, "four hours are one run")
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	q := english.Compile("Is there a dog in the first second?")
	r := answer.NewReceipt("main-2", q)
	require.Equal(t, &answer.Receipt{
		Model: answer.ReceiptModel{ID: "main-2"}, QueryDigest: "sha256:" + query.Digest(q), Sampled: []answer.SampleRun{},
	}, r, "nobody looked")

	ev := evidence.Evidence{DurationS: 2, IntervalS: .5, Frames: []evidence.Frame{{At: 0}, {At: .5}, {At: 1}, {At: 1.5}}}
	r.Examined(answer.Engine{Name: "detect", Weights: "w", Digest: "00ff", Worker: "worker/1"}, q, ev)
	require.Equal(t, "sha256:00ff", *r.Model.Digest)
	require.Equal(t, "worker/1", *r.WorkerVersion)
	require.Equal(t, 3, r.Frames, "only the frames that the question is about")
	require.Equal(t, []answer.SampleRun{{0, .5, 3}}, r.Sampled)

	ev.Fine = []evidence.Frame{{At: .25}, {At: 1.25}}
	r.Examined(answer.Engine{}, q, ev)
	require.Equal(t, []answer.SampleRun{{0, .25, 3}, {1, 0, 1}}, r.Sampled, "also between the samples")

	r = answer.NewReceipt("main-2", q)
	r.Examined(answer.Engine{Name: "detect"}, q, ev)
	require.Nil(t, r.Model.Digest)
	require.Nil(t, r.WorkerVersion, "a missing value stays missing")
}
