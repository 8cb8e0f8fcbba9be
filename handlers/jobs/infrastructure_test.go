package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/video"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/objects"
	"vqa/handlers/react"
)

// count is the number of rows that a query counts.
func (w *world) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, w.pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// owner is a connection with the rights of the owner of the tables.
func (w *world) owner(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.pool.Config().ConnString())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// folder is the folder of the object store.
func (w *world) folder(t *testing.T) string {
	t.Helper()
	path, ok := w.objects.LocalPath("x")
	require.True(t, ok)
	return filepath.Dir(path)
}

// TestMissingObjectFolderPausesAnAnalysis moves the folder of the object store away. More
// attempts than may be lost pass meanwhile, and the analysis completes when the folder is back.
func TestMissingObjectFolderPausesAnAnalysis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	sweeper, client := w.sweeper(t)
	folder := w.folder(t)
	require.NoError(t, os.Rename(folder, folder+".away"))
	t.Cleanup(func() { _ = os.RemoveAll(folder + ".away") })
	w.work(t, client)
	require.NoError(t, client.Analyze(t.Context(), run))
	canceled := "select count(*) from river_job where kind = 'analyze' and state = 'cancelled'"
	require.Eventually(t, func() bool { return w.count(t, canceled) == 1 }, patience, 10*time.Millisecond)

	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, []int{1}, w.attempts(t, "analyze"), "the next attempt pauses")
	w.skip(time.Minute)
	require.NoError(t, sweeper.Sweep(t.Context()))
	snoozes := "select count(*) from river_job where kind = 'analyze' and (metadata ->> 'snoozes')::int >= 2"
	require.Eventually(t, func() bool { return w.count(t, snoozes) == 1 }, patience, 10*time.Millisecond)
	require.Equal(t, []int{1, 2}, w.attempts(t, "analyze"))
	events := len(w.history(t, run))
	require.False(t, w.analysis(t, run).Status.Terminal())

	require.NoError(t, os.Rename(folder+".away", folder))
	require.Eventually(t, func() bool { return w.analysis(t, run).Status.Terminal() }, patience, 20*time.Millisecond)
	a := w.analysis(t, run)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.Equal(t, 2, a.Attempt)
	require.Greater(t, len(w.history(t, run)), events)
	w.requireBilled(t, shortS)
}

// TestFullDiskPausesAnAnalysis fills the disk of the temporary files. The attempts pause as
// often as the disk is full.
func TestFullDiskPausesAnAnalysis(t *testing.T) { //nolint:paralleltest // it sets TMPDIR
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	temp := t.TempDir()
	if err := syscall.Mount("tmpfs", temp, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(temp, syscall.MNT_DETACH)) })
	fill := filepath.Join(temp, "fill")
	require.ErrorIs(t, os.WriteFile(fill, make([]byte, 1<<20), 0o600), syscall.ENOSPC)
	t.Setenv("TMPDIR", temp)
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	for range 5 {
		require.ErrorContains(t, z.Run(t.Context(), run), "paused: disk")
		require.False(t, w.analysis(t, run).Status.Terminal())
		run.Attempt++
	}
	require.NoError(t, os.Remove(fill))
	require.NoError(t, z.Run(t.Context(), run))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	w.requireBilled(t, shortS)
}

// TestWorkPausesForADay: faults of the infrastructure do not end an analysis, but the end of
// its hold does.
func TestWorkPausesForADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	sweeper, client := w.sweeper(t)
	require.NoError(t, client.Analyze(t.Context(), run))
	pause := func() {
		_, err := w.pool.Exec(t.Context(), `update river_job set state = 'cancelled', finalized_at = now(), attempt = 1,
			errors = array[jsonb_build_object('at', now(), 'attempt', 1, 'error', 'JobCancelError: analyze: paused: engine: away', 'trace', '')]
			where state = 'available'`)
		require.NoError(t, err)
		w.skip(time.Minute)
	}
	for range 6 {
		pause()
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.False(t, w.analysis(t, run).Status.Terminal())
	}
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, w.attempts(t, "analyze"))
	w.skip(24 * time.Hour)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, fault.StuckTimeout, w.analysis(t, run).Error.Code)
	w.requireBilled(t, 0)
}

// purged reports whether the log says that the bytes of a video are gone.
func (w *world) purged(t *testing.T, videoID string) bool {
	t.Helper()
	events, err := w.store.LoadAll(t.Context(), streamOf(videoID))
	require.NoError(t, err)
	_, is := events[len(events)-1].Event.(video.Purged)
	return is
}

// TestUnwritableJobTableLosesNoDeletion refuses every insert of a job, and delivers the deletion
// only then, as if it were parked. The sweep finds the video.
func TestUnwritableJobTableLosesNoDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	sweeper, client := w.sweeper(t)
	owner := w.owner(t)
	_, err := owner.Exec(t.Context(), `
		create function refuse() returns trigger language plpgsql as 'begin raise exception ''no jobs today''; end';
		create trigger refuse before insert on river_job for each row execute function refuse()`)
	require.NoError(t, err)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, v.ID))
	events, err := w.store.LoadAll(t.Context(), streamOf(v.ID))
	require.NoError(t, err)
	deleted := events[len(events)-1]
	require.IsType(t, video.Deleted{}, deleted.Event)
	require.Error(t, react.Reactor{Jobs: client}.Handle(t.Context(), deleted), "the event is parked after some attempts")
	require.Error(t, sweeper.Sweep(t.Context()))
	require.False(t, w.purged(t, v.ID))
	_, err = owner.Exec(t.Context(), "drop trigger refuse on river_job")
	require.NoError(t, err)

	require.NoError(t, sweeper.Sweep(t.Context()))
	w.work(t, client)
	require.Eventually(t, func() bool { return w.purged(t, v.ID) }, patience, 20*time.Millisecond)
	require.Empty(t, w.filesOf(t, v.ID))
	open, err := w.resources.UnpurgedVideos(t.Context())
	require.NoError(t, err)
	require.Empty(t, open)
}

// TestDeletionOfADeadNode: a node dies while it removes the bytes of a video. The next attempt
// of another node removes them.
func TestDeletionOfADeadNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, v.ID))
	sweeper, client := w.sweeper(t)
	require.NoError(t, sweeper.Sweep(t.Context()))
	for range 5 { // more than an analysis may lose
		w.leave(t, deadNode)
		require.NoError(t, sweeper.Sweep(t.Context()))
	}
	require.Equal(t, []int{1, 2, 3, 4, 5, 6}, w.attempts(t, "remove_video"))
	w.leave(t, aliveNode)
	other := *sweeper
	other.Nodes = living{aliveNode: true}
	require.NoError(t, other.Sweep(t.Context()))
	require.Len(t, w.attempts(t, "remove_video"), 6, "a node that is alive removes them")
	_, err := w.pool.Exec(t.Context(), "update river_job set attempted_by = array[$1] where state = 'running'", deadNode)
	require.NoError(t, err)
	require.NoError(t, sweeper.Sweep(t.Context()))
	w.work(t, client)
	require.Eventually(t, func() bool { return w.purged(t, v.ID) }, patience, 20*time.Millisecond)
	require.Empty(t, w.filesOf(t, v.ID))
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Len(t, w.attempts(t, "remove_video"), 7, "nothing is left to do")
}

// TestDeletionWaitsForTheObjectFolder: in a folder that is not mounted, the bytes look gone.
func TestDeletionWaitsForTheObjectFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, v.ID))
	sweeper, client := w.sweeper(t)
	require.NoError(t, sweeper.Sweep(t.Context()))
	folder := w.folder(t)
	require.NoError(t, os.Rename(folder, folder+".away"))
	t.Cleanup(func() { _ = os.RemoveAll(folder + ".away") })
	require.NoError(t, os.Mkdir(folder, 0o700)) // the mount point
	w.work(t, client)
	snoozed := "select count(*) from river_job where kind = 'remove_video' and metadata ? 'snoozes'"
	require.Eventually(t, func() bool { return w.count(t, snoozed) == 1 }, patience, 10*time.Millisecond)
	require.False(t, w.purged(t, v.ID))
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Rename(folder+".away", folder))
	require.Eventually(t, func() bool { return w.purged(t, v.ID) }, patience, 20*time.Millisecond)
	require.Empty(t, w.filesOf(t, v.ID))
	require.Equal(t, []int{1}, w.attempts(t, "remove_video"), "the same attempt went on")
}

// TestMissingObjectFolderPausesAFetch: a fetch that cannot store its bytes is not a failed
// attempt.
func TestMissingObjectFolderPausesAFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := "https://example.com/clip.mp4"
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{URL: &url})
	require.NoError(t, err)
	folder := w.folder(t)
	require.NoError(t, os.Rename(folder, folder+".away"))
	t.Cleanup(func() { _ = os.RemoveAll(folder + ".away") })
	fetch := command.Fetch{AccountID: w.caller.AccountID, VideoID: v.ID, URL: url, Attempt: 1}
	for range 5 {
		require.ErrorContains(t, w.fetcher().Run(t.Context(), fetch), "paused: object store")
		require.Equal(t, video.Processing, w.video(t, v.ID).Status)
	}
	require.NoError(t, os.Rename(folder+".away", folder))
	require.NoError(t, w.objects.Readable(t.Context(), w.readyVideo(t, shortClip).File.ObjectKey))
	_, err = w.objects.Stat(t.Context(), objects.VideoKey(v.ID)+".1")
	require.True(t, fault.Has(err, fault.ResourceNotFound), "no bytes were left: %v", err)
}
