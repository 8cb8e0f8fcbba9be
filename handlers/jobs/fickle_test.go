package jobs_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/fault"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
)

// fickle is an engine that no longer knows a term after some calls.
type fickle struct {
	gpu.Engine
	left atomic.Int32
}

func (f *fickle) Detect(ctx context.Context, req gpu.Request) (gpu.Response, error) {
	resp, err := f.Engine.Detect(ctx, req)
	if err == nil && f.left.Add(-1) < 0 {
		resp.Known = slices.Clone(resp.Known)
		resp.Known[0] = false
	}
	return resp, err
}

// TestAnEngineThatForgetsATerm: after that, a missing detection does not mean absence.
func TestAnEngineThatForgetsATerm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, calls := range map[string]int32{"in the first scan": 1, "at the edges of its detections": 2} {
		v := w.readyVideo(t, shortClip)
		engine := &fickle{Engine: &gpufixture.Engine{Detections: comesAndGoes}}
		engine.left.Store(calls)
		run := w.ask(t, v)
		require.NoError(t, w.analyzer(engine).Run(t.Context(), run))
		a := w.analysis(t, run)
		require.Equal(t, analysis.FailedStatus, a.Status, name)
		require.Equal(t, fault.InferenceError, a.Error.Code, name)

		engine.left.Store(1000)
		run = w.ask(t, v)
		require.NoError(t, w.analyzer(engine).Run(t.Context(), run))
		a = w.analysis(t, run)
		require.Equal(t, analysis.CompletedStatus, a.Status, name)
		require.Equal(t, answer.Yes, a.Result.Answer, "no doubtful frame was saved")
	}
}

// comesAndGoes is a sign in the first two frames of every batch.
func comesAndGoes(frame int, term string) []evidence.Detection {
	if frame > 1 {
		return nil
	}
	return seen(frame, term)
}
