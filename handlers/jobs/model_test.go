package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/vocabulary"
	gpufixture "vqa/gpu/fixture"
)

// TestVocabularyAndCalibrationFollowTheEngine: the engine that answers determines the known
// classes and the calibration.
func TestVocabularyAndCalibrationFollowTheEngine(t *testing.T) {
	t.Parallel()
	someone := func(_ int, term string) []evidence.Detection {
		if term != "woman" && term != "person" {
			return nil
		}
		return []evidence.Detection{{Box: evidence.Box{X1: .3, Y1: .2, X2: .5, Y2: .6}, Score: .9}}
	}
	for name, tt := range map[string]struct {
		vocabulary []string
		measured   answer.Calibrations
		asked      string
		want       answer.Answer
		confidence float64
	}{
		"a closed model knows persons":   {vocabulary.COCO().Names(), answer.Calibrations{"fixture": answer.CPU()}, "person", answer.Yes, .69},
		"an open model looks for women":  {nil, answer.Calibrations{"fixture": answer.CPU()}, "woman", answer.Yes, answer.CPU().Probability("woman", .9)},
		"an unmeasured model is doubted": {nil, nil, "woman", answer.Yes, answer.Unmeasured().Probability("woman", .9)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			engine := &gpufixture.Engine{Detections: someone, Vocabulary: tt.vocabulary}
			z := w.analyzer(engine)
			z.Calibrations = tt.measured
			run := w.askAbout(t, w.readyVideo(t, shortClip).ID, "Is there a woman?")
			require.NoError(t, z.Run(t.Context(), run))
			result := w.analysis(t, run).Result
			require.Equal(t, tt.want, result.Answer)
			require.InDelta(t, tt.confidence, result.Confidence, 1e-3)
			require.Equal(t, tt.asked, engine.Calls()[0].Terms[0])
		})
	}
}
