package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/intake/demo"
	"vqa/projections"
	"vqa/projections/resources"
)

const (
	// demoRetry is the wait after the first failure. It doubles up to demoRetryMax.
	demoRetry    = 5 * time.Second
	demoRetryMax = 5 * time.Minute
	// demoPoll is how often to check for an answer without a notification.
	demoPoll = 2 * time.Second
	// DemoQuiet is how long callers must have had no work before a question is asked. Who has just started
	// the service is about to ask something.
	DemoQuiet = 30 * time.Second
	// demoHistory is the number of analyses of one video that are searched for the newest
	// of each question.
	demoHistory = 100
)

// demoTenant owns the demo videos.
var demoTenant = resources.Tenant{AccountID: account.SystemID, Livemode: true}

// Studio makes the files of demo videos.
type Studio interface {
	// Make stores the clip of a scene and its thumbnail.
	Make(ctx context.Context, scene demo.Scene) (video.File, error)
	// Discard removes what Make stored.
	Discard(ctx context.Context, f video.File) error
}

// DemoReader reads the demo videos and their analyses.
type DemoReader interface {
	Video(ctx context.Context, t resources.Tenant, id string) (video.State, error)
	Analysis(ctx context.Context, t resources.Tenant, id string) (resources.Analysis, error)
	Analyses(ctx context.Context, t resources.Tenant, f resources.AnalysisFilter, p projections.Page) ([]resources.Analysis, bool, error)
	// Idle reports whether callers have no unfinished work.
	Idle(ctx context.Context) (bool, error)
}

// Demos makes the demo videos and has their questions answered, one at a time and only while callers have
// no work. Videos and answers that the log has are not made again.
type Demos struct {
	// Quiet is how long callers must have had no work; see DemoQuiet.
	Quiet    time.Duration
	Scenes   []demo.Scene
	Commands *command.Service
	Studio   Studio
	Read     DemoReader
	// Wake subscribes to changes of the log; see httpapi.Options.
	Wake func() (<-chan struct{}, func())
	Log  *slog.Logger
}

// Run works until every video exists and every question is answered, or ctx ends. It
// retries after a failure, such as an engine that does not answer.
func (d *Demos) Run(ctx context.Context) {
	for wait := demoRetry; ; wait = min(2*wait, demoRetryMax) {
		err := d.Pass(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		d.Log.Warn("making the demo videos failed", "error", err, "retry_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// Pass makes the missing videos and answers, and returns at the first failure. The videos
// come first: they are useful before their questions are answered.
func (d *Demos) Pass(ctx context.Context) error {
	for _, scene := range d.Scenes {
		if err := d.add(ctx, scene); err != nil {
			return err
		}
	}
	busy := time.Now()
	for _, scene := range d.Scenes {
		for _, prompt := range scene.Prompts {
			if err := d.answer(ctx, scene, prompt, &busy); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds the video of a scene, unless it exists.
func (d *Demos) add(ctx context.Context, scene demo.Scene) error {
	_, err := d.Read.Video(ctx, demoTenant, scene.VideoID())
	if !fault.Has(err, fault.ResourceNotFound) {
		return err
	}
	began := time.Now()
	file, err := d.Studio.Make(ctx, scene)
	if err != nil {
		return err
	}
	v, err := d.Commands.AddDemoVideo(ctx, scene.VideoID(), scene.Filename(), file)
	if err != nil {
		return fmt.Errorf("record the demo video %s: %w", scene.Name, err)
	}
	if v.File == nil || v.File.ObjectKey != file.ObjectKey {
		return d.Studio.Discard(ctx, file) // another node was first
	}
	d.Log.Info("demo video added", "name", scene.Name, "video_id", v.ID, "size_bytes", file.SizeBytes, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// awaitQuiet returns when callers have had no work for Quiet. busy is when they were last seen to have some.
func (d *Demos) awaitQuiet(ctx context.Context, busy *time.Time) error {
	for {
		idle, err := d.Read.Idle(ctx)
		if err != nil {
			return err
		}
		if !idle {
			*busy = time.Now()
		} else if time.Since(*busy) >= d.Quiet {
			return nil
		}
		select {
		case <-time.After(min(d.Quiet, demoPoll)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answer has a question answered by the current default model, unless that model has
// answered it.
func (d *Demos) answer(ctx context.Context, scene demo.Scene, prompt string, busy *time.Time) error {
	newest, err := d.newest(ctx, scene.VideoID(), prompt)
	if err != nil || newest.Status == analysis.CompletedStatus {
		return err
	}
	if newest.Status.Terminal() || newest.Status == "" {
		if err := d.awaitQuiet(ctx, busy); err != nil {
			return err
		}
		if err := d.Commands.Capacity.InferenceReady(ctx); err != nil {
			return err
		}
		newest, err = d.Commands.AskDemo(ctx, command.AskDemo{VideoID: scene.VideoID(), Prompt: prompt, After: newest.ID})
		if err != nil {
			return fmt.Errorf("ask %q about %s: %w", prompt, scene.Name, err)
		}
	}
	if newest, err = d.await(ctx, newest.ID); err != nil {
		return err
	}
	if newest.Status != analysis.CompletedStatus {
		return fmt.Errorf("analysis %s of %q about %s is %s", newest.ID, prompt, scene.Name, newest.Status)
	}
	d.Log.Info("demo question answered", "name", scene.Name, "prompt", prompt, "answer", newest.Result.Answer, "confidence", newest.Result.Confidence)
	return nil
}

// newest is the last analysis of a question about a video, or the zero state.
func (d *Demos) newest(ctx context.Context, videoID, prompt string) (analysis.State, error) {
	m, err := d.Commands.Catalog.Resolve("", d.Commands.Now())
	if err != nil {
		return analysis.State{}, err
	}
	list, _, err := d.Read.Analyses(ctx, demoTenant, resources.AnalysisFilter{VideoID: videoID, Model: m.ID}, projections.Page{Limit: demoHistory})
	if err != nil {
		return analysis.State{}, err
	}
	for _, a := range list {
		if a.Prompt != nil && *a.Prompt == prompt {
			return a.State, nil
		}
	}
	return analysis.State{}, nil
}

// await returns an analysis when it is terminal.
func (d *Demos) await(ctx context.Context, analysisID string) (analysis.State, error) {
	changed, stop := d.Wake()
	defer stop()
	poll := time.NewTicker(demoPoll)
	defer poll.Stop()
	for {
		a, err := d.Read.Analysis(ctx, demoTenant, analysisID)
		if err != nil || a.Status.Terminal() {
			return a.State, err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return analysis.State{}, ctx.Err()
		}
	}
}
