package command

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// Afterwork identifies one attempt to make the artifacts or the narrative of a completed
// analysis. Both are made after the answer.
type Afterwork struct {
	AccountID  string `json:"account_id"`
	AnalysisID string `json:"analysis_id" river:"unique"`
	// Attempt counts from 1. The analysis and the attempt identify the job.
	Attempt int   `json:"attempt" river:"unique"`
	Cause   Cause `json:"cause"`
}

func (s *Service) afterworkIntent(w Afterwork) intent {
	in := intent{accountID: w.AccountID, meta: s.systemMeta(w.Cause, w.AccountID, workerActor)}
	in.streams = append(in.streams, analyses.Stream(w.AnalysisID))
	return in
}

// AnalysisWithVideo reads an analysis and its video from the log. It bypasses the cache of the
// lane, which may be older than a deletion by another node.
func (s *Service) AnalysisWithVideo(ctx context.Context, analysisID string) (analysis.State, video.State, error) {
	var v video.State
	a, err := read(ctx, s.Store, fold.Analysis, analysisID)
	if err != nil || !a.Exists() {
		return a, v, err
	}
	v, err = read(ctx, s.Store, fold.Video, a.VideoID)
	return a, v, err
}

// read loads and folds one stream.
func read[S any, E eventstore.Event](ctx context.Context, store eventstore.Store, of fold.Of[S, E], id string) (S, error) {
	stream := of.Stream(id)
	histories, err := store.Load(ctx, stream)
	if err != nil {
		var zero S
		return zero, err
	}
	return restored(ctx, store, of, stream, histories[stream])
}

// RecordDrawing records the rendered artifacts of a completed analysis, or nil when rendering
// failed. When that was already recorded, it returns an error that IsStale recognizes.
func (s *Service) RecordDrawing(ctx context.Context, w Afterwork, artifacts *analysis.Artifacts) error {
	return s.recordAfterwork(ctx, w, analysis.Draw{Artifacts: artifacts})
}

// RecordNarrative records the narrative of a completed analysis. When the narrative was already
// recorded or given up, it returns an error that IsStale recognizes.
func (s *Service) RecordNarrative(ctx context.Context, w Afterwork, entries []analysis.NarrativeEntry) error {
	return s.recordAfterwork(ctx, w, analysis.Narrate{Entries: entries})
}

// FailNarrative gives up the narrative of a completed analysis. Its errors are those of
// RecordNarrative.
func (s *Service) FailNarrative(ctx context.Context, w Afterwork) error {
	return s.recordAfterwork(ctx, w, analysis.FailNarration{})
}

func (s *Service) recordAfterwork(ctx context.Context, w Afterwork, c analysis.Command) error {
	return s.Pipeline.do(ctx, s.afterworkIntent(w), func(ss *session) error {
		_, err := analyses.record(ss, w.AnalysisID, c)
		return err
	})
}
