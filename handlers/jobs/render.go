package jobs

import (
	"context"
	"fmt"
	"image"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/video"
	"vqa/handlers/artifact"
	"vqa/handlers/command"
)

// Renderer draws the artifacts of an analysis and stores them.
type Renderer interface {
	// Plan returns the artifacts that Make will store; nil when there is nothing to show.
	Plan(name artifact.Name, in artifact.Input) *analysis.Artifacts
	// Make draws the planned artifacts and returns those it stored: all of them, or nil.
	Make(ctx context.Context, planned analysis.Artifacts, in artifact.Input) (*analysis.Artifacts, error)
	// Remove deletes what Make stored. A missing object is not an error.
	Remove(ctx context.Context, a analysis.Artifacts) error
}

// plan returns the artifacts that will be drawn of an answer.
func (z *Analyzer) plan(a analysis.State, v video.State, seen examined, result answer.Result) *analysis.Artifacts {
	// Questions of the service itself have no reader.
	if z.Renderer == nil || a.Origin == analysis.OriginSystem {
		return nil
	}
	name := artifact.Name{VideoID: a.VideoID, AnalysisID: a.ID, Attempt: a.Attempt}
	return z.Renderer.Plan(name, drawingInput(a, v, seen, result))
}

// drawingInput is the input of a drawing, without the source of the video.
func drawingInput(a analysis.State, v video.State, seen examined, result answer.Result) artifact.Input {
	in := artifact.Input{
		Question: question(a), Intent: a.Query.PromptIntent, Result: result, Evidence: seen.Evidence,
		Terms: a.Query.SearchTerms, Calibration: seen.rules,
	}
	if v.File.FPS != nil {
		in.FPS = *v.File.FPS
	}
	if w, h := v.File.Width, v.File.Height; w != nil && h != nil {
		in.Size = image.Pt(*w, *h)
	}
	return in
}

// drawTimeout bounds a drawing, with the scan of the video that it may need.
const drawTimeout = analyzeTimeout

// Draw makes one attempt at drawing the artifacts that a completed analysis promises. When
// it fails, only the artifacts are missing. A nil return means that the attempt is over. An
// error means that the next attempt must take up the work. It needs a Renderer.
//
// All attempts draw the same into the same objects, so an attempt that was believed lost
// does no harm. The first to end records the artifacts. Objects that no result names
// are removed.
func (z *Analyzer) Draw(ctx context.Context, w command.Afterwork) error {
	ctx, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	log := z.Log.With("analysis_id", w.AnalysisID, "attempt", w.Attempt)
	started := time.Now()
	a, v, err := z.Commands.AnalysisWithVideo(ctx, w.AnalysisID)
	if err != nil || !a.Drawing {
		return pausing(err)
	}
	planned := *a.Artifacts
	made, err := z.draw(ctx, a, v)
	err = z.diagnoseAfterwork(ctx, w, err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !final(err):
		return fmt.Errorf("draw %s: %w", w.AnalysisID, err)
	case err != nil:
		log.Warn("drawing the artifacts failed", "error", err)
	}
	kept, err := z.recordDrawing(ctx, w, made)
	switch {
	case err != nil:
		return pausing(err)
	case kept:
		log.Info("artifacts drawn", "took", time.Since(started).Round(time.Millisecond))
		return nil
	}
	return pausing(z.Renderer.Remove(ctx, planned))
}

// recordDrawing ends a drawing, unless another attempt has ended it, and reports whether
// the objects must stay.
func (z *Analyzer) recordDrawing(ctx context.Context, w command.Afterwork, made *analysis.Artifacts) (kept bool, err error) {
	// A deletion of the video after this read removes the objects too.
	_, v, err := z.Commands.AnalysisWithVideo(ctx, w.AnalysisID)
	if err != nil {
		return false, err
	}
	if !v.Exists() {
		made = nil
	}
	err = z.Commands.RecordDrawing(ctx, w, made)
	if !command.IsStale(err) {
		return made != nil, err
	}
	a, v, err := z.Commands.AnalysisWithVideo(ctx, w.AnalysisID)
	return a.Artifacts != nil && v.Exists(), err
}

// drawError says that the drawing cannot be made.
type drawError struct{ err error }

func (e *drawError) Error() string { return e.err.Error() }
func (e *drawError) Unwrap() error { return e.err }

// draw draws an answer from the survey of the video, or after another scan.
func (z *Analyzer) draw(ctx context.Context, a analysis.State, v video.State) (*analysis.Artifacts, error) {
	if !v.Exists() {
		return nil, errVideoDeleted
	}
	p, err := z.examinationOf(ctx, a, v)
	if err != nil {
		return nil, err
	}
	p.unsaved = true
	seen, err := z.survey(ctx, v, p, noProgress)
	if err != nil {
		return nil, err
	}
	defer seen.close()
	in := drawingInput(a, v, seen, *a.Result)
	in.Source = p.source
	made, err := z.Renderer.Make(ctx, *a.Artifacts, in)
	if err != nil {
		return nil, &drawError{err}
	}
	if err := seen.survey.Err(); err != nil {
		return nil, err
	}
	return made, nil
}

// noProgress reports no progress: the analysis has completed.
func noProgress(context.Context, float64) error { return nil }

// question is the question in words: the prompt or, for a compiled query, the prompt it was
// compiled from.
func question(a analysis.State) string {
	if a.Prompt != nil {
		return *a.Prompt
	}
	if a.Query.OriginalPrompt != nil {
		return *a.Query.OriginalPrompt
	}
	text := string(a.Query.PromptIntent) + ":"
	for _, term := range a.Query.SearchTerms {
		text += " " + term
	}
	return text
}
