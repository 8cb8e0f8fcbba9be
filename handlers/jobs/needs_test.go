package jobs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
)

// painter is an engine that names colors and reads PPM.
type painter struct{ *gpufixture.Engine }

func (p painter) Info(ctx context.Context) (gpu.Info, error) {
	info, err := p.Engine.Info(ctx)
	info.Colors, info.PPM = []string{"blue", "red"}, true
	return info, err
}

func redSign(frame int, term string) []evidence.Detection {
	found := seen(frame, term)
	for i := range found {
		found[i].Colors = []float32{.1, .9}
	}
	return found
}

// TestEngineIsAskedForWhatTheQuestionNeeds: poses take time and are requested only when an
// answer depends on them. Colors take almost none.
func TestEngineIsAskedForWhatTheQuestionNeeds(t *testing.T) {
	t.Parallel()
	cases := []struct {
		prompt string
		pose   bool
		want   answer.Answer
	}{
		{"Is there a stop sign?", false, answer.Yes},
		{"Is there a stop sign in the middle?", false, answer.Yes},
		{"Is there a red stop sign?", false, answer.Yes},
		{"Is there a blue stop sign?", false, answer.No},
		{"Is a person sitting?", true, answer.No},
	}
	w := newWorld(t)
	for _, c := range cases {
		run := w.askFor(t, w.readyVideo(t, shortClip), c.prompt)
		engine := &gpufixture.Engine{Detections: redSign}
		require.NoError(t, w.analyzer(painter{engine}).Run(t.Context(), run))
		a := w.analysis(t, run)
		require.Equal(t, analysis.CompletedStatus, a.Status, c.prompt)
		require.Equal(t, c.want, a.Result.Answer, c.prompt)
		require.NotEmpty(t, engine.Calls())
		for _, call := range engine.Calls() {
			require.Equal(t, c.pose, call.WantPose, c.prompt)
			require.True(t, call.WantColors, c.prompt)
			require.Equal(t, "P6\n", string(call.Frames[0][:3]), c.prompt)
		}
	}
}

func TestColorsOfAnEngineWithoutColors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.askFor(t, w.readyVideo(t, shortClip), "Is there a red stop sign?")
	engine := &gpufixture.Engine{Detections: seen}
	require.NoError(t, w.analyzer(engine).Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, answer.Indeterminate, a.Result.Answer, "a sign is there, its color is not known")
	for _, call := range engine.Calls() {
		require.False(t, call.WantColors, "asking would fail")
		require.Equal(t, "\xff\xd8", string(call.Frames[0][:2]), "JPEG is what every engine reads")
	}
}
