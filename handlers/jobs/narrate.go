package jobs

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/narrative"
	"vqa/domain/video"
	"vqa/handlers/command"
)

// Narrator rewrites a narrative in better prose.
type Narrator interface {
	// Narrate returns the same number of entries, at the same times. After an error the
	// entries stay as they are.
	Narrate(ctx context.Context, entries []narrative.Entry) ([]narrative.Entry, error)
}

// narrateTimeout bounds a narrative, with the scan of the video that it may need.
const narrateTimeout = analyzeTimeout

// Narrate makes one attempt at the narrative of a completed analysis. A nil return means
// that the attempt is over. An error means that the next attempt must take up the work.
func (z *Analyzer) Narrate(ctx context.Context, w command.Afterwork) error {
	ctx, cancel := context.WithTimeout(ctx, narrateTimeout)
	defer cancel()
	a, v, err := z.Commands.AnalysisWithVideo(ctx, w.AnalysisID)
	if err != nil || !a.Narrating() {
		return pausing(err)
	}
	log := z.Log.With("analysis_id", w.AnalysisID, "attempt", w.Attempt)
	entries, err := z.narrative(ctx, a, v)
	err = z.diagnoseAfterwork(ctx, w, err)
	switch {
	case err == nil:
		log.Info("narrative written", "entries", len(entries))
		err = z.Commands.RecordNarrative(ctx, w, entries)
	case ctx.Err() != nil:
		return ctx.Err()
	case final(err):
		log.Warn("writing the narrative failed", "error", err)
		err = z.Commands.FailNarrative(ctx, w)
	}
	if command.IsStale(err) {
		return nil
	}
	return pausing(err)
}

// narrative describes what happens in a video, from its survey or after another scan.
func (z *Analyzer) narrative(ctx context.Context, a analysis.State, v video.State) ([]analysis.NarrativeEntry, error) {
	if !v.Exists() {
		return nil, errVideoDeleted
	}
	p, err := z.examinationOf(ctx, a, v)
	if err != nil {
		return nil, err
	}
	p.everything, p.unsaved = true, true
	seen, err := z.survey(ctx, v, p, noProgress)
	if err != nil {
		return nil, fmt.Errorf("narrate %s: %w", a.ID, err)
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
			z.Log.WarnContext(ctx, "the language model failed, so the narrative is written by rules", "analysis_id", a.ID, "error", err)
		}
	}
	list := make([]analysis.NarrativeEntry, len(entries))
	for i, e := range entries {
		list[i] = analysis.NarrativeEntry(e)
	}
	return list, nil
}
