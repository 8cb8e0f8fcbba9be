package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/jobs"
	"vqa/handlers/media/artifact"
	"vqa/handlers/react"
)

// drawing is an analyzer that draws what it finds.
func (w *world) drawing(engine *gpufixture.Engine) *jobs.Analyzer {
	z := w.analyzer(engine)
	z.Renderer = &artifact.Studio{Objects: w.objects}
	return z
}

func (w *world) requireGone(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := w.objects.Stat(t.Context(), key)
		require.True(t, fault.Has(err, fault.ResourceNotFound), "%s: %v", key, err)
	}
}

// TestAnswerIsDrawn goes on to the end of the artifacts: they go with their video.
func TestAnswerIsDrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	run := w.ask(t, v)
	require.NoError(t, w.drawing(&gpufixture.Engine{Detections: seen}).Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.NotNil(t, a.Artifacts)
	for _, key := range []string{a.Artifacts.VideoKey, a.Artifacts.SheetKey} {
		info, err := w.objects.Stat(t.Context(), key)
		require.NoError(t, err)
		require.Greater(t, info.SizeBytes, int64(1000))
	}

	other := w.ask(t, w.readyVideo(t, shortClip))
	require.NoError(t, w.drawing(&gpufixture.Engine{Detections: seen}).Run(t.Context(), other))
	_, client := w.sweeper(t)
	reactor := react.Reactor{Jobs: client}
	require.NoError(t, reactor.Handle(t.Context(), eventstore.Recorded{Event: video.Deleted{VideoID: v.ID, ObjectKey: v.File.ObjectKey}}))
	require.NoError(t, client.Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, client.Stop(ctx))
	})
	require.Eventually(t, func() bool {
		_, err := w.objects.Stat(t.Context(), a.Artifacts.SheetKey)
		_, original := w.objects.Stat(t.Context(), v.File.ObjectKey)
		return fault.Has(err, fault.ResourceNotFound) && fault.Has(original, fault.ResourceNotFound)
	}, patience, 20*time.Millisecond)
	w.requireGone(t, a.Artifacts.VideoKey)
	_, err := w.objects.Stat(t.Context(), w.analysis(t, other).Artifacts.VideoKey)
	require.NoError(t, err, "those of another video stay")
}

// renderer does what a test wants.
type renderer struct {
	*artifact.Studio
	make func(ctx context.Context) error
}

func (r *renderer) Make(ctx context.Context, name artifact.Name, in artifact.Input) (*analysis.Artifacts, error) {
	if err := r.make(ctx); err != nil {
		return nil, err
	}
	return r.Studio.Make(ctx, name, in)
}

func TestAnswerNeedsNoDrawing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	z.Renderer = &renderer{make: func(context.Context) error { return errors.New("out of paint") }}
	require.NoError(t, z.Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, answer.Yes, a.Result.Answer)
	require.Nil(t, a.Artifacts)
	w.requireBilled(t, shortS)
}

// TestDrawingThatCameTooLateIsRemoved lets a second attempt end while the first draws.
func TestDrawingThatCameTooLateIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	studio := &artifact.Studio{Objects: w.objects}
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	z.Renderer = &renderer{Studio: studio, make: func(context.Context) error {
		second := run
		second.Attempt = 2
		return w.drawing(&gpufixture.Engine{Detections: seen}).Run(t.Context(), second)
	}}
	require.NoError(t, z.Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, 2, a.Attempt)
	require.NotNil(t, a.Artifacts)
	_, err := w.objects.Stat(t.Context(), a.Artifacts.VideoKey)
	require.NoError(t, err)
	first := "artifacts/" + run.VideoID + "/" + run.AnalysisID + ".1"
	w.requireGone(t, first+".mp4", first+".png")
}
