package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
)

func (w *world) orphans() *jobs.Orphans {
	return &jobs.Orphans{Objects: w.objects, Videos: w.resources, Now: w.now, Log: w.log}
}

func (w *world) create(t *testing.T, c command.CreateVideo) string {
	t.Helper()
	v, err := w.CreateVideo(t.Context(), w.caller, c)
	require.NoError(t, err)
	return v.ID
}

// TestOrphansAreRemoved has objects of every kind for a video in every state.
func TestOrphansAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := "https://example.com/a.mp4"
	upload := command.CreateVideo{ContentType: "video/mp4"}
	awaiting, processing := w.create(t, upload), w.create(t, command.CreateVideo{URL: &url})
	ready := w.readyVideo(t, shortClip)
	failed := w.create(t, command.CreateVideo{URL: &url})
	require.NoError(t, w.FailVideo(t.Context(), command.Fetch{AccountID: w.caller.AccountID, VideoID: failed}, fault.New(fault.VideoTooLarge, "")))
	deleted := w.readyVideo(t, shortClip)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, deleted.ID))
	unready := w.create(t, upload)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, unready))
	const stranger = "video_01JNQ3ZC8A0123456789ABCDEF"

	kept := []string{
		objects.UploadKey(awaiting), objects.VideoKey(awaiting) + ".12ab", objects.VideoKey(processing) + ".1", objects.VideoKey(processing) + ".2",
		objects.SurveyKey(ready.ID), objects.ArtifactKey(ready.ID, "an_1.1.mp4"),
		objects.UploadKey(stranger), objects.VideoKey(stranger), objects.SurveyKey(stranger), objects.ArtifactKey(stranger, "an_1.1.mp4"),
	}
	gone := []string{
		objects.UploadKey(ready.ID), objects.VideoKey(ready.ID), objects.VideoKey(ready.ID) + ".1",
		objects.UploadKey(failed), objects.VideoKey(failed) + ".1",
		deleted.File.ObjectKey, objects.UploadKey(deleted.ID), objects.SurveyKey(deleted.ID),
		objects.UploadKey(unready), objects.VideoKey(unready) + ".12ab",
	}
	for i := range 1200 { // more than two pages
		gone = append(gone, objects.ArtifactKey(deleted.ID, fmt.Sprintf("an_%d.1.png", i)))
	}
	for _, key := range append(append([]string{}, kept...), gone...) {
		// This writes to the folder of the store, because the store takes no upload for a
		// ready video.
		path, ok := w.objects.LocalPath(key)
		require.True(t, ok)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("bytes"), 0o600))
	}
	kept = append(kept, ready.File.ObjectKey)
	// Unfinished files are left by killed processes. Those of a deleted video are removed
	// at once, others when their writers must have ended.
	unfinished := func(key string, age time.Duration) string {
		path, ok := w.objects.LocalPath(key)
		require.True(t, ok)
		path += ".1a2b.tmp"
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, then, then))
		return path
	}
	young, old := unfinished(objects.UploadKey(awaiting), 50*time.Minute), unfinished(objects.VideoKey(processing)+".3", 2*time.Hour)
	dead := unfinished(objects.UploadKey(unready), 0)
	require.NoError(t, w.objects.Freeze(t.Context(), objects.UploadKey(unready)))

	removed, err := w.orphans().Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(gone)+2-1, removed, "all but the upload that Freeze removed")
	for _, key := range kept {
		_, err := w.objects.Stat(t.Context(), key)
		require.NoError(t, err, key)
	}
	for _, key := range gone {
		w.requireGone(t, key)
	}
	require.FileExists(t, young)
	require.NoFileExists(t, old)
	require.NoFileExists(t, dead)
	mark, ok := w.objects.LocalPath(objects.UploadKey(unready) + ".closed")
	require.True(t, ok)
	require.FileExists(t, mark, "its signed URL may still be valid")

	removed, err = w.orphans().Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, removed)
}

// filesOf are the stored files of a video, without the marks of closed uploads.
func (w *world) filesOf(t *testing.T, videoID string) []string {
	t.Helper()
	root, ok := w.objects.LocalPath("x")
	require.True(t, ok)
	var found []string
	for _, pattern := range []string{"*/" + videoID + "*", "artifacts/" + videoID + "/*"} {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(root), pattern))
		require.NoError(t, err)
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && filepath.Ext(f) != ".closed" {
				found = append(found, f)
			}
		}
	}
	return found
}

// TestDeletionRacesCompletion deletes videos while they are completed. Afterwards each is
// gone with all its bytes.
func TestDeletionRacesCompletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data, err := shortClip()
	require.NoError(t, err)
	won := map[string]int{}
	for i := range 12 {
		id := w.create(t, command.CreateVideo{ContentType: "video/mp4"})
		w.put(t, objects.UploadKey(id), data)
		var both sync.WaitGroup
		both.Go(func() {
			_, err := w.CompleteVideo(t.Context(), w.caller, id)
			switch {
			case err == nil:
				won["complete"]++
			case fault.Has(err, fault.ResourceNotFound):
				won["delete"]++
			default:
				t.Errorf("complete: %v", err)
			}
		})
		both.Go(func() {
			time.Sleep(time.Duration(i) * 40 * time.Millisecond) // the delay moves over the steps of complete
			if err := w.DeleteVideo(t.Context(), w.caller, id); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
		both.Wait()
		// The event of the deletion starts the removal.
		events, err := w.store.LoadAll(t.Context(), streamOf(id))
		require.NoError(t, err)
		e, ok := events[len(events)-1].Event.(video.Deleted)
		require.True(t, ok, "%T", events[len(events)-1].Event)
		require.NoError(t, w.objects.DeleteVideo(t.Context(), id, e.ObjectKey))
		_, err = w.orphans().Sweep(t.Context())
		require.NoError(t, err)
		require.Empty(t, w.filesOf(t, id))
	}
	t.Logf("the order of the requests: %v", won)
}
