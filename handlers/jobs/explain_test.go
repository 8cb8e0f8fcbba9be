package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query/vocabulary"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/survey"
)

// TestAnAnswerIsExplainedFromItsSurvey: the trace has the recorded answer, and examines no frame. When the
// evidence is gone, it says why.
func TestAnAnswerIsExplainedFromItsSurvey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &counting{Engine: &gpufixture.Engine{Detections: seen, Vocabulary: vocabulary.COCO().Names()}}
	z := w.analyzer(engine)
	v := w.readyVideo(t, shortClip)
	run := w.ask(t, v)
	x := jobs.Explainer{Surveys: z.Surveys, Calibrations: z.Calibrations}
	explain := func(run command.Run) (jobs.Explained, error) {
		t.Helper()
		a, v, err := w.AnalysisWithVideo(t.Context(), run.AnalysisID)
		require.NoError(t, err)
		return x.Explain(t.Context(), a, v)
	}
	_, err := explain(run)
	require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)

	require.NoError(t, z.Run(t.Context(), run))
	refused := w.askAbout(t, v.ID, "Is the door open?")
	examined := engine.frames.Load()
	explained, err := explain(run)
	require.NoError(t, err)
	require.Equal(t, examined, engine.frames.Load())
	result := w.analysis(t, run).Result
	require.Equal(t, answer.Yes, result.Answer)
	require.Equal(t, result.Answer, explained.Answer)
	require.InDelta(t, result.Confidence, explained.Confidence, 0)
	require.Equal(t, result.Receipt.Frames, explained.Frames)
	require.NotEmpty(t, explained.Things[0].Tracks)

	explained, err = explain(refused)
	require.NoError(t, err)
	require.Equal(t, w.analysis(t, refused).Result.UnsupportedAction.Reason, explained.Ruling.Text)

	unknown, _, err := w.AnalysisWithVideo(t.Context(), refused.AnalysisID)
	require.NoError(t, err)
	nothing := answer.Unknown(unknown.Query, nil)
	unknown.Query.SearchTerms, unknown.Result = []string{"unicorn"}, &nothing
	explained, err = x.Explain(t.Context(), unknown, v)
	require.NoError(t, err)
	require.Equal(t, `No frame was examined: the model knows none of the words ["unicorn"].`, explained.Ruling.Text)

	kept, found, err := z.Surveys.Load(t.Context(), v.ID)
	require.NoError(t, err)
	require.True(t, found)
	kept.Engine.Digest = "another"
	require.NoError(t, z.Surveys.Save(t.Context(), v.ID, kept))
	_, err = explain(run)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	require.ErrorContains(t, err, "Another model")

	require.NoError(t, w.objects.Delete(t.Context(), survey.Key(v.ID)))
	_, err = explain(run)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	require.ErrorContains(t, err, "not stored any more")

	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, v.ID))
	_, err = explain(run)
	require.ErrorContains(t, err, "The video was deleted.")
}
