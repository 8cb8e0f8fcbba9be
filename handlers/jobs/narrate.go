package jobs

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/narrative"
	"vqa/domain/video"
	"vqa/handlers/command"
)

// Narrator writes a narrative anew, in better prose.
type Narrator interface {
	// Narrate returns as many entries, at the same times. An error costs the prose alone.
	Narrate(ctx context.Context, entries []narrative.Entry) ([]narrative.Entry, error)
}

// narrateTimeout bounds a narrative with the look at the video that it may need.
const narrateTimeout = analyzeTimeout

// Narrate makes one attempt at the narrative of a completed analysis. A nil return means
// that the attempt is over, whichever way; an error, that the next attempt must take it up.
func (z *Analyzer) Narrate(ctx context.Context, w command.Afterwork) error {
	ctx, cancel := context.WithTimeout(ctx, narrateTimeout)
	defer cancel()
	a, v, err := z.Commands.AnalysisWithVideo(ctx, w.AnalysisID)
	if err != nil || !a.Narrating() {
		return err
	}
	log := z.Log.With("analysis_id", w.AnalysisID, "attempt", w.Attempt)
	entries, err := z.narrative(ctx, a, v)
	switch {
	case err == nil:
		log.Info("narrative written", "entries", len(entries))
		err = z.Commands.RecordNarrative(ctx, w, entries)
	case ctx.Err() != nil:
		return ctx.Err()
	case final(err):
		log.Warn("no narrative", "error", err)
		err = z.Commands.FailNarrative(ctx, w)
	}
	if command.IsStale(err) {
		return nil
	}
	return err
}

// narrative tells what happens in a video, from what was kept of it or after another look.
func (z *Analyzer) narrative(ctx context.Context, a analysis.State, v video.State) ([]analysis.NarrativeEntry, error) {
	if !v.Exists() {
		return nil, &inputError{"The video was deleted."}
	}
	p, err := z.examinationOf(ctx, a, v)
	if err != nil {
		return nil, err
	}
	p.everything, p.unsaved = true, true
	seen, err := z.survey(ctx, v, p, noProgress)
	if err != nil {
		return nil, fmt.Errorf("narrating %s: %w", a.ID, err)
	}
	defer seen.close()
	entries := narrative.Write(seen.Evidence, seen.rules)
	if err := seen.survey.Err(); err != nil {
		return nil, err
	}
	if z.Narrator != nil {
		if better, err := z.Narrator.Narrate(ctx, entries); err == nil {
			entries = better
		} else if ctx.Err() == nil {
			z.Log.WarnContext(ctx, "the narrative is told by rules", "analysis_id", a.ID, "error", err)
		}
	}
	told := make([]analysis.NarrativeEntry, len(entries))
	for i, e := range entries {
		told[i] = analysis.NarrativeEntry(e)
	}
	return told, nil
}
