package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/vocabulary"
	"vqa/domain/video"
	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
	"vqa/eventstore/node"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/intake/demo"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/jobs"
	"vqa/handlers/react"
	"vqa/projections"
	"vqa/projections/resources"
)

var service = resources.Tenant{AccountID: account.SystemID, Livemode: true}

// studio counts the files that it makes.
type studio struct {
	jobs.Studio
	made, discarded atomic.Int64
}

func (s *studio) Make(ctx context.Context, scene demo.Scene) (video.File, error) {
	s.made.Add(1)
	return s.Studio.Make(ctx, scene)
}

func (s *studio) Discard(ctx context.Context, f video.File) error {
	s.discarded.Add(1)
	return s.Studio.Discard(ctx, f)
}

// demos joins the demo videos with running jobs and the engine of the test.
func (w *world) demos(t *testing.T, engine gpu.Engine) (*jobs.Demos, *studio) {
	t.Helper()
	name := "node_" + w.caller.KeyID
	presence, err := node.Join(t.Context(), w.pool, name, "host", 1, w.log)
	require.NoError(t, err)
	client, err := jobs.New(jobs.Options{
		Pool: w.pool, Analyses: 1, Analyzer: w.analyzer(engine), Objects: w.objects, Line: w.resources, Log: w.log,
		Fetcher: &jobs.Fetcher{Commands: w.Service, Intake: w.intake, Objects: w.objects, Log: w.log},
	})
	require.NoError(t, err)
	events := feed.New(w.pool, codec.Events(), w.log)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { presence.Run(ctx) })
	running.Go(func() { client.Run(ctx, presence) })
	running.Go(func() { _ = events.Run(ctx) })
	running.Go(func() { _ = events.Subscribe(ctx, react.Group, react.Reactor{Jobs: client}.Handle) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	s := &studio{Studio: &demo.Studio{Objects: w.objects, Prober: w.intake.Prober, FFmpeg: ffmpegtest.Runner(t)}}
	return &jobs.Demos{
		Scenes: demo.Scenes()[1:2], Commands: w.Service, Studio: s, Read: w.resources, Wake: events.Watch, Log: w.log,
	}, s
}

func (w *world) demoAnalyses(t *testing.T) []resources.Analysis {
	t.Helper()
	list, _, err := w.resources.Analyses(t.Context(), service, resources.AnalysisFilter{}, projections.Page{Limit: 100})
	require.NoError(t, err)
	return list
}

func TestDemosAreMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &gpufixture.Engine{Vocabulary: vocabulary.COCO().Names(), Detections: func(_ int, term string) []evidence.Detection {
		if term != "sports ball" {
			return nil
		}
		return []evidence.Detection{{Box: evidence.Box{X1: .3, Y1: .2, X2: .5, Y2: .6}, Score: .9}}
	}}
	d, s := w.demos(t, engine)
	require.NoError(t, d.Pass(t.Context()))

	scene := d.Scenes[0]
	v, err := w.resources.Video(t.Context(), service, scene.VideoID())
	require.NoError(t, err)
	require.Equal(t, scene.Filename(), *v.Filename)
	_, err = w.objects.Stat(t.Context(), v.File.ObjectKey)
	require.NoError(t, err)
	answers := map[string]answer.Answer{}
	for _, a := range w.demoAnalyses(t) {
		require.Equal(t, analysis.CompletedStatus, a.Status)
		require.Equal(t, analysis.OriginSystem, a.Origin)
		require.Nil(t, a.Usage)
		answers[*a.Prompt] = a.Result.Answer
	}
	require.Equal(t, map[string]answer.Answer{
		"Is there a ball?": answer.Yes, "How many balls are there?": answer.Yes, "Are there no people?": answer.Yes,
	}, answers)

	calls := len(engine.Calls())
	require.NoError(t, d.Pass(t.Context()), "a restart")
	require.EqualValues(t, 1, s.made.Load())
	require.Len(t, engine.Calls(), calls)
	require.Len(t, w.demoAnalyses(t), len(scene.Prompts))

	theirs, _, err := w.resources.Analyses(t.Context(), resources.Tenant{AccountID: w.caller.AccountID, Livemode: true},
		resources.AnalysisFilter{}, projections.Page{Limit: 100})
	require.NoError(t, err)
	require.Empty(t, theirs, "no customer sees them")
	w.requireBilled(t, 0)
}

// TestDemosWaitForCallers has a caller's question open when the service starts.
func TestDemosWaitForCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	d, _ := w.demos(t, &gpufixture.Engine{Fail: func(int) error { <-release; return nil }})
	d.Quiet = 100 * time.Millisecond
	run := w.ask(t, w.readyVideo(t, shortClip))
	passed := make(chan error, 1)
	go func() { passed <- d.Pass(t.Context()) }()
	time.Sleep(10 * d.Quiet)
	require.Empty(t, w.demoAnalyses(t))
	close(release)
	require.NoError(t, <-passed)
	theirs := w.analysis(t, run)
	for _, a := range w.demoAnalyses(t) {
		require.True(t, a.CreatedAt.After(*theirs.CompletedAt))
	}
}

func TestFailedDemoIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d, _ := w.demos(t, &gpufixture.Engine{Fail: func(call int) error {
		if call == 0 {
			return &gpu.InferenceError{Err: errors.New("broken")}
		}
		return nil
	}})
	require.ErrorContains(t, d.Pass(t.Context()), "is failed")
	require.NoError(t, d.Pass(t.Context()))
	require.Len(t, w.demoAnalyses(t), len(d.Scenes[0].Prompts)+1)
}

// TestSecondNodeDiscards: when two nodes draw the same scene with different programs, the
// second removes its file.
func TestSecondNodeDiscards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d, s := w.demos(t, &gpufixture.Engine{})
	scene := d.Scenes[0]
	d.Scenes[0].Prompts = nil
	first := video.File{ObjectKey: "demo/first.mp4", ContentType: "video/mp4", SizeBytes: 1}
	d.Read = lateReader{w.resources, func() {
		_, err := w.AddDemoVideo(t.Context(), scene.VideoID(), scene.Filename(), first)
		require.NoError(t, err)
	}}
	require.NoError(t, d.Pass(t.Context()))
	require.EqualValues(t, 1, s.discarded.Load())
	v, err := w.resources.Video(t.Context(), service, scene.VideoID())
	require.NoError(t, err)
	require.Equal(t, first.ObjectKey, v.File.ObjectKey)
}

// lateReader calls a function right after the check whether a video exists.
type lateReader struct {
	*resources.Reader
	then func()
}

func (l lateReader) Video(ctx context.Context, t resources.Tenant, id string) (video.State, error) {
	v, err := l.Reader.Video(ctx, t, id)
	l.then()
	return v, err
}

// TestDemosHaveTheLowestPriority: a question of the service neither fills the queue nor
// goes before a question of an account.
func TestDemosHaveTheLowestPriority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scene := demo.Scenes()[0]
	_, err := w.AddDemoVideo(t.Context(), scene.VideoID(), scene.Filename(), video.File{ObjectKey: "demo/a.mp4", ContentType: "video/mp4", SizeBytes: 1})
	require.NoError(t, err)
	_, err = w.AskDemo(t.Context(), command.AskDemo{VideoID: scene.VideoID(), Prompt: scene.Prompts[0]})
	require.NoError(t, err)
	queued, err := w.resources.QueuedAnalyses(t.Context())
	require.NoError(t, err)
	require.Zero(t, queued)
	run := w.ask(t, w.readyVideo(t, shortClip))
	a, err := w.resources.Analysis(t.Context(), resources.Tenant{AccountID: run.AccountID, Livemode: true}, run.AnalysisID)
	require.NoError(t, err)
	require.Equal(t, 1, *a.QueuePosition)
}
