package evaluate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/vocabulary"
	"vqa/domain/sampling"
)

// clipWithDog shows a dog from second 1 to the end at second 4.
func clipWithDog() Seen {
	classes := vocabulary.COCO().Classes("dog")
	classes = append(classes, "boat")
	s := Seen{Engine: answer.Engine{Weights: answer.CPUWeights}, DecodedS: 4, Evidence: evidence.Evidence{
		Terms: classes, Known: make([]bool, len(classes)), IntervalS: sampling.FineStepS,
	}}
	for i := range classes {
		s.Evidence.Known[i] = true
	}
	for k := range 32 {
		f := evidence.Frame{At: float64(k) * sampling.FineStepS}
		if f.At >= 1 {
			f.Detections = []evidence.Detection{{Term: 0, Score: .8, Box: evidence.Box{X1: .2, Y1: .2, X2: .6, Y2: .7}}}
		}
		s.Evidence.Frames = append(s.Evidence.Frames, f)
	}
	return s
}

// TestAskAnswersFromEvidence keeps the evidence in a file and answers from that file.
func TestAskAnswersFromEvidence(t *testing.T) {
	t.Parallel()
	path := SeenPath(t.TempDir(), "dog.mp4", "a/b", 0)
	require.Equal(t, "dog.mp4.a-b.gob.gz", filepath.Base(path))
	require.NoError(t, clipWithDog().Save(path))
	seen, err := ReadSeen(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(clipWithDog(), seen))

	questions := []Case{
		{File: "dog.mp4", Form: "presence", Question: "Is there a dog?", Answer: "yes", Clips: [][2]float64{{1, 4}}},
		{File: "dog.mp4", Form: "absence", Question: "Is there a boat?", Answer: "no"},
		{File: "dog.mp4", Form: "count", Question: "How many dogs are there?", Answer: "yes", Count: new(2)},
	}
	cal := answer.Calibrations(nil).For(answer.CPUWeights, seen.Evidence.Terms)
	outcomes, err := Ask(map[string]Seen{"dog.mp4": seen}, questions, func(string) answer.Calibration { return cal })
	require.NoError(t, err)
	require.True(t, outcomes[0].Right)
	require.Greater(t, *outcomes[0].Overlap, .9)
	require.True(t, outcomes[1].Right)
	require.False(t, outcomes[2].Right, "one dog is not two")
	require.Equal(t, 1, *outcomes[2].GotCount)

	_, err = Ask(nil, questions, func(string) answer.Calibration { return cal })
	require.ErrorContains(t, err, "dog.mp4")
}

func TestReadSeenRefusesDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.gob.gz")
	_, err := ReadSeen(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("no evidence"), 0o600))
	_, err = ReadSeen(path)
	require.ErrorContains(t, err, path)
}
