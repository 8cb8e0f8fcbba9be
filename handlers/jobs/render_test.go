package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/artifact"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/react"
	"vqa/handlers/survey"
)

// drawing is an analyzer that draws artifacts.
func (w *world) drawing(engine *gpufixture.Engine) *jobs.Analyzer {
	z := w.analyzer(engine)
	z.Renderer = &artifact.Studio{Objects: w.objects, FFmpeg: w.ffmpeg}
	return z
}

func work(run command.Run) command.Afterwork {
	return command.Afterwork{AccountID: run.AccountID, AnalysisID: run.AnalysisID, Attempt: 1, Cause: run.Cause}
}

func (w *world) requireGone(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := w.objects.Stat(t.Context(), key)
		require.True(t, fault.Has(err, fault.ResourceNotFound), "%s: %v", key, err)
	}
}

func (w *world) requireKept(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		info, err := w.objects.Stat(t.Context(), key)
		require.NoError(t, err)
		require.Greater(t, info.SizeBytes, int64(1000))
	}
}

// promised answers a question about a new video with an analyzer that promises artifacts.
func (w *world) promised(t *testing.T, z *jobs.Analyzer) (command.Run, analysis.Artifacts) {
	t.Helper()
	run := w.ask(t, w.readyVideo(t, shortClip))
	require.NoError(t, z.Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.True(t, a.Drawing)
	require.Equal(t, "artifacts/"+run.VideoID+"/"+run.AnalysisID+".1.mp4", a.Artifacts.VideoKey)
	w.requireGone(t, a.Artifacts.VideoKey, a.Artifacts.SheetKey)
	return run, *a.Artifacts
}

// TestAnswerIsDrawn also deletes the video: its artifacts are deleted with it.
func TestAnswerIsDrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	z := w.drawing(&gpufixture.Engine{Detections: seen})
	run, planned := w.promised(t, z)
	before := w.analysis(t, run)
	require.NoError(t, z.Draw(t.Context(), work(run)))
	a := w.analysis(t, run)
	require.Equal(t, &planned, a.Artifacts)
	require.False(t, a.Drawing)
	require.Empty(t, cmp.Diff(before.Result, a.Result), "the answer is unchanged")
	w.requireKept(t, planned.VideoKey, planned.SheetKey)
	history := w.history(t, run)
	require.NoError(t, z.Draw(t.Context(), work(run)), "a second time")
	require.Equal(t, history, w.history(t, run))

	other, kept := w.promised(t, z)
	require.NoError(t, z.Draw(t.Context(), work(other)))
	v := w.video(t, run.VideoID)
	_, client := w.sweeper(t)
	reactor := react.Reactor{Jobs: client}
	require.NoError(t, reactor.Handle(t.Context(), eventstore.Recorded{Event: video.Deleted{VideoID: v.ID, ObjectKey: v.File.ObjectKey}}))
	w.work(t, client)
	require.Eventually(t, func() bool {
		_, err := w.objects.Stat(t.Context(), planned.SheetKey)
		_, original := w.objects.Stat(t.Context(), v.File.ObjectKey)
		return fault.Has(err, fault.ResourceNotFound) && fault.Has(original, fault.ResourceNotFound)
	}, patience, 20*time.Millisecond)
	w.requireGone(t, planned.VideoKey)
	w.requireKept(t, kept.VideoKey)
}

// renderer calls a function of the test before it draws.
type renderer struct {
	*artifact.Studio
	make func(ctx context.Context) error
}

func (r *renderer) Make(ctx context.Context, planned analysis.Artifacts, in artifact.Input) (*analysis.Artifacts, error) {
	if err := r.make(ctx); err != nil {
		return nil, err
	}
	return r.Studio.Make(ctx, planned, in)
}

// meanwhile is an analyzer that calls a function while it draws.
func (w *world) meanwhile(happens func(ctx context.Context) error) *jobs.Analyzer {
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	z.Renderer = &renderer{Studio: &artifact.Studio{Objects: w.objects, FFmpeg: w.ffmpeg}, make: happens}
	return z
}

func TestAnswerNeedsNoDrawing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	z := w.meanwhile(func(context.Context) error { return errors.New("out of paint") })
	run, planned := w.promised(t, z)
	w.put(t, planned.VideoKey, []byte("the file of an attempt that was killed"))
	require.NoError(t, z.Draw(t.Context(), work(run)))
	a := w.analysis(t, run)
	require.Equal(t, answer.Yes, a.Result.Answer)
	require.Nil(t, a.Artifacts)
	require.False(t, a.Drawing)
	w.requireGone(t, planned.VideoKey, planned.SheetKey)
	w.requireBilled(t, shortS)
}

// TestDrawingScansAgain: without a survey, the video is scanned again and the same answer
// is drawn.
func TestDrawingScansAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &gpufixture.Engine{Detections: seen}
	z := w.drawing(engine)
	run, planned := w.promised(t, z)
	require.NoError(t, w.objects.Delete(t.Context(), survey.Key(run.VideoID)))
	looked := len(engine.Calls())
	require.NoError(t, z.Draw(t.Context(), work(run)))
	require.Greater(t, len(engine.Calls()), looked)
	w.requireKept(t, planned.VideoKey, planned.SheetKey)
	w.requireGone(t, survey.Key(run.VideoID)) // the video might have been deleted meanwhile
}

func TestVideoDeletedWhileItIsDrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var run command.Run
	z := w.meanwhile(func(ctx context.Context) error { return w.DeleteVideo(ctx, w.caller, run.VideoID) })
	run, planned := w.promised(t, z)
	require.NoError(t, z.Draw(t.Context(), work(run)))
	w.requireGone(t, planned.VideoKey, planned.SheetKey)
	require.False(t, w.analysis(t, run).Drawing)

	z = w.drawing(&gpufixture.Engine{Detections: seen})
	run, planned = w.promised(t, z)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, run.VideoID))
	w.put(t, planned.VideoKey, []byte("the file of an attempt that was killed"))
	require.NoError(t, z.Draw(t.Context(), work(run)))
	w.requireGone(t, planned.VideoKey)
	require.False(t, w.analysis(t, run).Drawing)
}

// TestTwoAttemptsDraw lets a second attempt end during the first, which was believed lost.
func TestTwoAttemptsDraw(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]error{"the first succeeds too": nil, "the first fails": errors.New("out of paint")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var run command.Run
			z := w.meanwhile(func(ctx context.Context) error {
				if err := w.drawing(&gpufixture.Engine{Detections: seen}).Draw(ctx, work(run)); err != nil {
					return err
				}
				return first
			})
			run, planned := w.promised(t, z)
			require.NoError(t, z.Draw(t.Context(), work(run)))
			require.Equal(t, &planned, w.analysis(t, run).Artifacts)
			w.requireKept(t, planned.VideoKey, planned.SheetKey)
		})
	}
	t.Run("the second gives up", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		var run command.Run
		z := w.meanwhile(func(ctx context.Context) error { return w.RecordDrawing(ctx, work(run), nil) })
		run, planned := w.promised(t, z)
		require.NoError(t, z.Draw(t.Context(), work(run)))
		require.Nil(t, w.analysis(t, run).Artifacts)
		w.requireGone(t, planned.VideoKey, planned.SheetKey)
	})
}

func TestDrawingThatIsCutOffIsTakenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cut := context.WithCancel(t.Context())
	z := w.meanwhile(func(ctx context.Context) error { cut(); return ctx.Err() })
	run, _ := w.promised(t, z)
	require.ErrorIs(t, z.Draw(ctx, work(run)), context.Canceled)
	require.True(t, w.analysis(t, run).Drawing)

	sweeper, client := w.sweeper(t)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Empty(t, w.attempts(t, "draw"), "the feed has a moment to enqueue it")
	require.NoError(t, client.Draw(t.Context(), work(run)))
	require.NoError(t, client.Draw(t.Context(), work(run)), "a redelivered event adds nothing")
	for range 3 {
		require.True(t, w.analysis(t, run).Drawing)
		w.leave(t, deadNode)
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.NoError(t, sweeper.Sweep(t.Context()))
	}
	require.Equal(t, []int{1, 2, 3}, w.attempts(t, "draw"))
	a := w.analysis(t, run)
	require.False(t, a.Drawing, "three were lost")
	require.Nil(t, a.Artifacts)
	require.Equal(t, analysis.CompletedStatus, a.Status)
}

func TestDrawingIsLeftToANodeThatDraws(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.told(t, w.drawing(&gpufixture.Engine{Detections: seen}))
	_, client := w.sweeper(t) // it draws nothing
	w.work(t, client)
	require.NoError(t, client.Draw(t.Context(), work(run)))
	require.NoError(t, client.Narrate(t.Context(), work(run)))
	require.Eventually(t, func() bool { return !w.analysis(t, run).Narrating() }, patience, 20*time.Millisecond)
	require.True(t, w.analysis(t, run).Drawing)
	var state string
	require.NoError(t, w.pool.QueryRow(t.Context(), "select state from river_job where kind = 'draw'").Scan(&state))
	require.Equal(t, "available", state)
}

// TestArtifactsAreGivenUpWithoutADrawingNode: promised artifacts are given up when no node
// has drawn for an hour.
func TestArtifactsAreGivenUpWithoutADrawingNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run, planned := w.promised(t, w.drawing(&gpufixture.Engine{Detections: seen}))
	sweeper, client := w.sweeper(t) // it draws nothing
	require.NoError(t, client.Draw(t.Context(), work(run)))
	const hour = time.Hour
	noted := func(ago time.Duration) {
		t.Helper()
		_, err := w.pool.Exec(t.Context(), `
			insert into river_queue (name, created_at, updated_at) values ('drawings', $1, $1)
			on conflict (name) do update set updated_at = excluded.updated_at`, w.now().Add(-ago))
		require.NoError(t, err)
	}
	sweep := func() analysis.State {
		t.Helper()
		require.NoError(t, sweeper.Sweep(t.Context()))
		return w.analysis(t, run)
	}
	require.True(t, sweep().Drawing, "the node that promised it ran a moment ago")
	w.skip(2 * hour)
	noted(hour - time.Minute)
	require.True(t, sweep().Drawing, "a node that draws has run since")
	noted(hour)
	a := sweep()
	require.False(t, a.Drawing)
	require.Nil(t, a.Artifacts)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.Equal(t, answer.Yes, a.Result.Answer)
	w.requireBilled(t, shortS)
	history := w.history(t, run)
	sweep()
	require.Equal(t, history, w.history(t, run), "once")

	// A node that draws finds the job and has nothing to do.
	require.NoError(t, w.drawing(&gpufixture.Engine{Detections: seen}).Draw(t.Context(), work(run)))
	require.Equal(t, history, w.history(t, run))
	w.requireGone(t, planned.VideoKey, planned.SheetKey)
}

// TestADrawingNodeGivesNothingUp, even after a long stop.
func TestADrawingNodeGivesNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run, _ := w.promised(t, w.drawing(&gpufixture.Engine{Detections: seen}))
	sweeper, client := w.sweeperOf(t, w.drawing(&gpufixture.Engine{Detections: seen}))
	require.NoError(t, client.Draw(t.Context(), work(run)))
	w.skip(2 * time.Hour)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.True(t, w.analysis(t, run).Drawing)
}
