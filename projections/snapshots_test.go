package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	domain "vqa/domain/analysis"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// TestAnAlteredSnapshotIsNamed alters the snapshot of a stream of each category that an analysis
// writes. A snapshot of another release is left out.
func TestAnAlteredSnapshotIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 10_000)
	videoID := w.readyVideo(ctx, t, c)
	var analysisID string
	for range 60 {
		id, err := w.ask(ctx, c, videoID, "Is there a dog?")
		require.NoError(t, err)
		_, err = w.CancelAnalysis(ctx, c, id)
		require.NoError(t, err)
		analysisID = id
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		tag, err := w.owner.Exec(ctx, sql, args...)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())
	}
	// An analysis gets a snapshot after 50 events. This one has 2, and gets the snapshot of its state.
	analysis := fold.Analysis.Stream(analysisID)
	events, err := w.store.LoadAll(ctx, analysis)
	require.NoError(t, err)
	state, err := fold.Analysis.Fold(domain.State{}, events...)
	require.NoError(t, err)
	snapshot, err := fold.Analysis.Snapshot(state)
	require.NoError(t, err)
	exec("update streams set snapshot = $2::text::json, snapshot_version = version where stream = $1", analysis.String(), string(snapshot))

	verify := func(names ...string) projections.Certificate {
		t.Helper()
		r := w.rebuilder()
		var done, total int64
		r.Progress = func(stage projections.Stage, d, of int64) {
			if stage == projections.VerifyingSnapshots {
				done, total = d, of
			}
		}
		proof, err := r.Verify(ctx, names...)
		require.NoError(t, err)
		require.Equal(t, total, done)
		require.Positive(t, total)
		for _, p := range proof.Tables {
			require.True(t, p.Equal(), "%+v", p)
		}
		return proof
	}
	proof := verify()
	require.True(t, proof.Equal, "%+v", proof.Snapshots)
	require.Equal(t, &projections.Snapshots{Compared: 3}, proof.Snapshots)

	for _, altered := range []struct {
		stream          eventstore.StreamID
		from, to, field string
	}{
		{fold.Credit.Stream(c.AccountID), `"account_id":"acct_`, `"account_id":"tcca_`, "account_id"},
		{fold.Video.Stream(videoID), `"status":"ready"`, `"status":"deleted"`, "status"},
		{analysis, `"status":"canceled"`, `"status":"completed"`, "status"},
	} {
		stored := altered.stream.String()
		var before string
		require.NoError(t, w.owner.QueryRow(ctx, "select snapshot::text from streams where stream = $1", stored).Scan(&before))
		require.Contains(t, before, altered.from)
		exec("update streams set snapshot = replace(snapshot::text, $2, $3)::json where stream = $1", stored, altered.from, altered.to)
		proof = verify()
		require.False(t, proof.Equal)
		require.Len(t, proof.Snapshots.Examples, 1)
		named := proof.Snapshots.Examples[0]
		require.Equal(t, stored, named.Stream)
		require.Equal(t, altered.field, named.Fields[0].Name)
		exec("update streams set snapshot = $2::text::json where stream = $1", stored, before)
	}

	// The version of a snapshot counts too.
	video := fold.Video.Stream(videoID).String()
	exec("update streams set snapshot_version = snapshot_version - 1 where stream = $1", video)
	proof = verify("videos")
	require.Equal(t, video, proof.Snapshots.Examples[0].Stream)
	require.EqualValues(t, 1, proof.Snapshots.Compared, "only the streams of the table")

	exec(`update streams set snapshot = '{"snapshot_of":"of another release"}' where stream = $1`, video)
	proof = verify()
	require.True(t, proof.Equal, "%+v", proof.Snapshots)
	require.Equal(t, &projections.Snapshots{Compared: 2, OtherShape: 1}, proof.Snapshots)
}
