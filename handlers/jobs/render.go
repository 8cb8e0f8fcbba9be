package jobs

import (
	"context"
	"log/slog"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/media/artifact"
)

// Renderer draws what an analysis found and keeps it.
type Renderer interface {
	// Make returns nil when there is nothing to show.
	Make(ctx context.Context, name artifact.Name, in artifact.Input) (*analysis.Artifacts, error)
	// Remove deletes what Make kept.
	Remove(ctx context.Context, a analysis.Artifacts) error
}

// render draws an answer. It returns nil when there is nothing to show or when drawing
// failed: the answer is what was paid for, and does not wait for another try.
func (z *Analyzer) render(
	ctx context.Context, log *slog.Logger, run command.Run, a analysis.State, v video.State, seen sighting, result answer.Result,
) *analysis.Artifacts {
	// Nobody reads what the service asks itself.
	if z.Renderer == nil || a.Origin == analysis.OriginSystem {
		return nil
	}
	started := time.Now()
	source, err := z.Sources.Source(ctx, v.File.ObjectKey)
	if err != nil {
		log.Warn("no artifacts", "error", err)
		return nil
	}
	in := artifact.Input{
		Source: source, Question: question(a), Result: result, Evidence: seen.Evidence,
		Classes: classesOf(a.Query, seen.rules.Vocabulary), Calibration: seen.rules,
	}
	if v.File.FPS != nil {
		in.FPS = *v.File.FPS
	}
	made, err := z.Renderer.Make(ctx, artifact.Name{VideoID: run.VideoID, AnalysisID: run.AnalysisID, Attempt: run.Attempt}, in)
	if err != nil {
		log.Warn("no artifacts", "error", err)
		return nil
	}
	log.Info("artifacts made", "took", time.Since(started).Round(time.Millisecond))
	return made
}

// discard removes the artifacts of an attempt that was not the first to end.
func (z *Analyzer) discard(ctx context.Context, log *slog.Logger, a *analysis.Artifacts) {
	if a == nil {
		return
	}
	if err := z.Renderer.Remove(ctx, *a); err != nil {
		log.Warn("artifacts not removed", "error", err)
	}
}

// question is what was asked, for people: the prompt or, when a query came instead, what
// that was made of.
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

// classesOf are the classes of the model that a question is about, in its order.
func classesOf(q query.Query, vocabulary query.Vocabulary) []string {
	var classes []string
	for _, term := range q.SearchTerms {
		if known, ok := vocabulary.Lookup(term); ok {
			classes = append(classes, known...)
		} else {
			classes = append(classes, term)
		}
	}
	return classes
}
