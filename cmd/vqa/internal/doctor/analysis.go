package doctor

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"vqa/domain/answer"
	"vqa/domain/video"
	"vqa/handlers/artifact"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake"
	"vqa/handlers/intake/demo"
	"vqa/handlers/intake/probe"
	"vqa/handlers/intake/scratch"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
	"vqa/handlers/survey"
)

// checkAnalysis runs one analysis of a demo video with the code of the service. It stores and probes
// the video, extracts frames, detects objects, answers a question, and renders the annotated video and
// the contact sheet.
func checkAnalysis(ctx context.Context, x *Examination) Finding {
	if x.engine.Engine == nil {
		return Finding{Verdict: Warning, Detail: "not checked, because ffmpeg or the engine does not work"}
	}
	folder, err := scratch.New()
	if err != nil {
		return wrong(fixTemporary, "%v", err)
	}
	defer folder.Remove() //nolint:errcheck // the next start of a node removes the folder
	started := time.Now()
	prompt, result, err := x.rehearse(ctx, folder.Path)
	if err != nil {
		return wrong(fixAnalysis, "%v", err)
	}
	took := time.Since(started).Seconds()
	if result.Answer != answer.Yes {
		detail := fmt.Sprintf("%q about a video with a ball: %s, in %.1f s", prompt, result.Answer, took)
		return Finding{Verdict: Warning, Detail: detail, Fix: "configure a more capable model"}
	}
	return found("%q about a demo video: %s, in %.1f s", prompt, result.Answer, took)
}

// rehearse stores the demo video in a folder and asks about it.
func (x *Examination) rehearse(ctx context.Context, dir string) (prompt string, _ answer.Result, _ error) {
	log := slog.New(slog.DiscardHandler)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	store, err := objects.Open(ctx, objects.Options{
		Dir: dir, PublicURL: x.PublicURL, SigningKey: key, Now: x.Now, WriteError: edge.WriteError, Log: log,
	})
	if err != nil {
		return "", answer.Result{}, err
	}
	defer func() { _ = store.Close() }() // the folder is removed
	scene := demo.Scenes()[1]            // a ball on a court, 8 s
	file, err := (&demo.Studio{Objects: store, Prober: probe.New(x.ffmpeg), FFmpeg: x.ffmpeg}).Make(ctx, scene)
	if err != nil {
		return "", answer.Result{}, err
	}
	analyzer := &jobs.Analyzer{
		Sources: &intake.Intake{Objects: store, Prober: probe.New(x.ffmpeg)}, Surveys: survey.Store{Objects: store}, Engine: x.engine.Engine, FFmpeg: x.ffmpeg, Calibrations: x.engine.Calibrations,
		Renderer: &artifact.Studio{Objects: store, FFmpeg: x.ffmpeg}, Patience: x.Patience, Log: log,
	}
	result, err := analyzer.Rehearse(ctx, video.State{ID: scene.VideoID(), File: &file}, scene.Prompts[0])
	return scene.Prompts[0], result, err
}
