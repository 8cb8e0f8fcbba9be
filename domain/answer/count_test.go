package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
)

// TestLastingObjectsCountByMeanScore: a second cup, as large as the first, has a weak score in
// every sample.
func TestLastingObjectsCountByMeanScore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		scores []float64
		want   int
	}{
		{"enough on average", []float64{.24, .17, .20, .27}, 2},
		{"too weak on average", []float64{.19, .19, .19, .19}, 1},
		{"a little below Keep once", []float64{.22, .15, .24, .23}, 2},
		{"not detected in one sample", []float64{.30, .30, .12, .30}, 1},
		{"for too short", []float64{.26, .26, .26}, 1},
	} {
		var frames [][]thing
		for _, score := range tt.scores {
			frames = append(frames, []thing{
				{term: "cup", score: .5, box: evidence.Box{X1: .1, Y1: .4, X2: .3, Y2: .6}},
				{term: "cup", score: score, box: evidence.Box{X1: .6, Y1: .4, X2: .8, Y2: .6}},
			})
		}
		r := scene("How many cups are there?", frames...)
		require.Equal(t, tt.want, *r.DetectedCount, tt.name)
	}
}
