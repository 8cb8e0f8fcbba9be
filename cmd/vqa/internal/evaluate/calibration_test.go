package evaluate

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// said is an answer with a confidence, right or wrong.
func said(got string, confidence float64, right bool) Outcome {
	return Outcome{Got: got, Confidence: confidence, Right: right}
}

func TestReliability(t *testing.T) {
	t.Parallel()
	r := reliabilityOf([]Outcome{
		said("yes", 1, true), said("no", .96, true), said("yes", .92, false), // mean .96, two thirds right
		said("yes", .55, true), said("no", .57, false), // mean .56, half right
		said("indeterminate", 0, false), said("", 0, false),
	})
	require.Equal(t, 5, r.Answered)
	require.Equal(t, 2, r.Undecided)
	require.InDelta(t, (.96-2./3)*3/5+(.56-.5)*2/5, *r.ECE, 1e-9)
	require.Len(t, r.Bins, 10)
	require.Equal(t, 3, r.Bins[9].Count, "a confidence of 1 belongs to the last bin")
	require.InDelta(t, .96, r.Bins[9].MeanConfidence, 1e-9)
	require.Equal(t, 1, r.Bins[5].Right)
	require.Zero(t, r.Bins[0].Count, "nothing is claimed with confidence 0")

	require.Nil(t, reliabilityOf([]Outcome{said("indeterminate", 0, false)}).ECE)
}

func TestReliabilityIsAnError(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Outcome {
			return said(rapid.SampledFrom([]string{"yes", "no", "indeterminate"}).Draw(t, "answer"), rapid.Float64Range(0, 1).Draw(t, "confidence"), rapid.Bool().Draw(t, "right"))
		}), 0, 60).Draw(t, "outcomes")
		r := reliabilityOf(outcomes)
		require.Equal(t, len(outcomes), r.Answered+r.Undecided)
		require.Equal(t, r.Answered == 0, r.ECE == nil)
		count := 0
		for _, b := range r.Bins {
			count += b.Count
			low, high := b.interval()
			require.True(t, 0 <= low && low <= b.shareRight()+1e-9 && high <= 1 && (b.Count == 0 || b.shareRight() <= high+1e-9))
			require.True(t, b.Count == 0 || b.From-1e-9 <= b.MeanConfidence && b.MeanConfidence <= b.To+1e-9)
		}
		require.Equal(t, r.Answered, count)
		require.True(t, r.ECE == nil || 0 <= *r.ECE && *r.ECE <= 1)
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	of := func(f float64) *float64 { return &f }
	r := Report{Total: FormScore{Asked: 20, Right: 19, MeanOverlap: of(.8)}, Calibration: Reliability{ECE: of(.1)}}
	require.NoError(t, r.Missed(Bounds{}))
	require.NoError(t, r.Missed(Bounds{MinRight: of(.95), MinOverlap: of(.8), MaxECE: of(.1)}))
	require.EqualError(t, r.Missed(Bounds{MinRight: of(.96), MinOverlap: of(.81), MaxECE: of(.09)}),
		"share of right answers 0.950 is below 0.960; mean overlap 0.800 is below 0.810; calibration error 0.100 is above 0.090")
	require.EqualError(t, Report{}.Missed(Bounds{MinOverlap: of(0), MaxECE: of(1)}),
		"mean overlap could not be measured; calibration error could not be measured")
}

func TestDiagram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "reliability.png")
	draw := func(r Reliability) []byte {
		require.NoError(t, SaveDiagram(path, r))
		drawn, err := os.ReadFile(path)
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(drawn))
		require.NoError(t, err)
		require.Equal(t, picture.Bounds().Dx(), picture.Bounds().Dy())
		require.Greater(t, picture.Bounds().Dx(), 800)
		return drawn
	}
	empty := draw(reliabilityOf(nil))
	full := draw(reliabilityOf([]Outcome{said("yes", .9, true), said("no", .4, false)}))
	require.NotEqual(t, empty, full)
	require.Equal(t, full, draw(reliabilityOf([]Outcome{said("no", .4, false), said("yes", .9, true)})), "the order of the answers does not matter")
}
