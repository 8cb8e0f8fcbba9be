package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/video"
	"vqa/eventstore"
)

// TestAVideoWithManyAnalysesIsLoadedFromItsSnapshot: a load reads at most the events since the last
// snapshot, and the state is that of the whole history.
func TestAVideoWithManyAnalysesIsLoadedFromItsSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(1000)
	videoID := w.readyVideo(caller)
	open := w.queued(caller, videoID)
	for range snapshotEvery {
		_, err := w.CancelAnalysis(t.Context(), caller, w.queued(caller, videoID).AnalysisID)
		require.NoError(t, err)
	}
	stream := videos.Stream(videoID)
	histories, err := w.log.Load(t.Context(), stream)
	require.NoError(t, err)
	h := histories[stream]
	require.EqualValues(t, 2*snapshotEvery+3, h.Version, "registered, ready, and the events of the analyses")
	require.Less(t, len(h.Events), snapshotEvery)
	loaded, err := videos.Restore(h)
	require.NoError(t, err)
	require.Equal(t, stateOf(w, videos, videoID), loaded)
	require.Equal(t, map[string]bool{open.AnalysisID: true}, loaded.OpenAnalyses)

	// Another release replaces the snapshot. The state is then folded from the first event, and the
	// next command stores a snapshot again.
	_, err = w.log.Append(t.Context(), eventstore.Batch{Writes: []eventstore.Write{{
		Stream: stream, Expected: h.Version, Chain: h.Chain, Snapshot: []byte(`{"filename":"of another shape"}`),
		Events: []eventstore.NewEvent{{
			Event: video.AnalysisClosed{VideoID: videoID, AnalysisID: open.AnalysisID, At: w.clock.Now()}, Meta: eventstore.Meta{AccountID: caller.AccountID, Actor: "test"},
		}},
	}}})
	require.NoError(t, err)
	_, v, err := w.AnalysisWithVideo(t.Context(), open.AnalysisID)
	require.NoError(t, err)
	require.Equal(t, stateOf(w, videos, videoID), v)
	w.queued(caller, videoID)
	histories, err = w.log.Load(t.Context(), stream)
	require.NoError(t, err)
	h = histories[stream]
	require.Equal(t, h.Version, h.SnapshotVersion)
	loaded, err = videos.Restore(h)
	require.NoError(t, err)
	require.Equal(t, stateOf(w, videos, videoID), loaded)
}
