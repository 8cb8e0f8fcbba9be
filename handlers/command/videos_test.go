package command

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
)

func TestCreateVideo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{
		Filename: ptr("a.mov"), ContentType: "video/quicktime", SizeBytes: ptr(int64(1000)), Metadata: map[string]string{"a": "b"},
	})
	require.NoError(t, err)
	require.Equal(t, video.AwaitingUpload, v.Status)
	require.Equal(t, w.Now().Add(24*time.Hour), *v.ExpiresAt)
	require.Equal(t, v, stateOf(w, videos, v.ID))

	v, err = w.CreateVideo(t.Context(), caller, CreateVideo{URL: ptr("https://example.com/a.mp4")})
	require.NoError(t, err)
	require.Equal(t, video.Processing, v.Status)
	require.Equal(t, v, stateOf(w, videos, v.ID))
}

func TestCompleteVideo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	create := func(c CreateVideo) string {
		v, err := w.CreateVideo(t.Context(), caller, c)
		require.NoError(t, err)
		return v.ID
	}
	upload := CreateVideo{ContentType: "video/mp4"}
	videoID := create(upload)
	v, err := w.CompleteVideo(t.Context(), caller, videoID)
	require.NoError(t, err)
	require.Equal(t, "videos/"+videoID, v.File.ObjectKey)
	require.Equal(t, v, stateOf(w, videos, videoID))
	require.Equal(t, []string{"ticket of " + videoID}, w.intake.kept)
	w.requireUnchanged(func() {
		again, err := w.CompleteVideo(t.Context(), caller, videoID)
		require.NoError(t, err, "completing is idempotent")
		require.Equal(t, v, again)
		require.Len(t, w.intake.kept, 1)
	})

	mismatch := create(CreateVideo{ContentType: "video/mp4", SizeBytes: ptr(int64(2000))})
	fetched := create(CreateVideo{URL: ptr("https://example.com/a.mp4")})
	failed := create(CreateVideo{URL: ptr("https://example.com/b.mp4")})
	require.NoError(t, w.FailVideo(t.Context(), Fetch{AccountID: caller.AccountID, VideoID: failed}, fault.New(fault.VideoTooLarge, "")))
	gone, unreadable, long := create(upload), create(upload), create(upload)
	require.NoError(t, w.DeleteVideo(t.Context(), caller, gone))
	test, fixtureID := w.sandbox()

	w.requireUnchanged(func() {
		kept := len(w.intake.kept)
		for name, c := range map[string]struct {
			caller  Caller
			videoID string
			want    fault.Code
		}{
			"a size off by more than 5%": {caller, mismatch, fault.UploadIncomplete},
			"a fetched one":              {caller, fetched, fault.ResourceConflict},
			"a failed one":               {caller, failed, fault.ResourceConflict},
			"a removed one":              {caller, gone, fault.ResourceNotFound},
			"another account's":          {w.account0(t), mismatch, fault.ResourceNotFound},
			"with a test key":            {test, mismatch, fault.ResourceNotFound},
			"a fixture with a live key":  {Caller{AccountID: test.AccountID, Livemode: true}, fixtureID, fault.ResourceNotFound},
		} {
			_, err := w.CompleteVideo(t.Context(), c.caller, c.videoID)
			require.True(t, fault.Has(err, c.want), "%s: %v", name, err)
		}
		w.intake.err = fault.New(fault.VideoUnreadable, "")
		_, err := w.CompleteVideo(t.Context(), caller, unreadable)
		requireFault(t, err, fault.VideoUnreadable)
		w.intake.err = fault.New(fault.CapacityExhausted, "No frame could be decoded in time.").WithRetryAfter(10)
		_, err = w.CompleteVideo(t.Context(), caller, unreadable)
		requireFault(t, err, fault.CapacityExhausted)
		require.Equal(t, 10, fault.Of(err).RetryAfterS)
		w.intake.err, w.intake.file.DurationMicros = nil, micros(4*3600*1_000_000+1)
		_, err = w.CompleteVideo(t.Context(), caller, long)
		requireFault(t, err, fault.VideoTooLong)
		require.Len(t, w.intake.kept, kept, "a refused file is not stored")
	})
	w.intake.file.DurationMicros = micros(4 * 3600 * 1_000_000)
	_, err = w.CompleteVideo(t.Context(), caller, long)
	require.NoError(t, err, "the longest allowed video; a retry after a refusal succeeds")
}

// account0 opens an account without credits, outside of the compared part of the log.
func (w *world) account0(t *testing.T) Caller {
	t.Helper()
	return Caller{AccountID: w.IDs.New("acct"), Livemode: true}
}

func TestUploadReplacedWhileItWasInspected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	w.intake.keepErr = fault.New(fault.ResourceConflict, "replaced")
	w.requireUnchanged(func() {
		_, err = w.CompleteVideo(t.Context(), caller, v.ID)
		requireFault(t, err, fault.ResourceConflict)
	})
}

func TestUploadWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	w.clock.advance(video.UploadWindow)
	w.requireUnchanged(func() {
		_, err = w.CompleteVideo(t.Context(), caller, v.ID)
		requireFault(t, err, fault.UploadIncomplete)
	})
	w.clock.advance(-time.Nanosecond)
	_, err = w.CompleteVideo(t.Context(), caller, v.ID)
	require.NoError(t, err)
}

func TestVideoDeletedWhileItIsCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	w.intake.during = func() { require.NoError(t, w.DeleteVideo(context.Background(), caller, v.ID)) }
	_, err = w.CompleteVideo(t.Context(), caller, v.ID)
	requireFault(t, err, fault.ResourceNotFound)
	require.Equal(t, video.Removed, stateOf(w, videos, v.ID).Status)
	require.Equal(t, []string{"videos/" + v.ID}, w.intake.discarded, "the stored object is deleted")
}

// TestVideoCompletedWhileItIsCompleted lets a second call complete the video while the first inspects the
// bytes. The second call deletes the upload.
func TestVideoCompletedWhileItIsCompleted(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]error{
		"its upload is gone":        fault.New(fault.UploadIncomplete, ""),
		"ffmpeg lost the file":      fault.New(fault.VideoUnreadable, ""),
		"there was no slot in time": fault.New(fault.CapacityExhausted, ""),
		"nothing":                   nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			caller := w.account(0)
			v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
			require.NoError(t, err)
			var won video.State
			w.intake.during = func() {
				w.intake.during = nil
				won, err = w.CompleteVideo(context.Background(), caller, v.ID)
				w.intake.err = lost
			}
			got, lostErr := w.CompleteVideo(t.Context(), caller, v.ID)
			require.NoError(t, err)
			require.NoError(t, lostErr)
			require.Equal(t, won, got)
			require.Empty(t, w.intake.discarded, "both stored the same object")
			require.Contains(t, w.intake.closed, v.ID)
		})
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	fetch := func() Fetch {
		v, err := w.CreateVideo(t.Context(), caller, CreateVideo{URL: ptr("https://example.com/a.mp4")})
		require.NoError(t, err)
		return Fetch{AccountID: caller.AccountID, VideoID: v.ID, Attempt: 1}
	}
	statusOf := func(f Fetch) video.Status { return stateOf(w, videos, f.VideoID).Status }
	file := video.File{ObjectKey: "k", ContentType: "video/mp4", SizeBytes: 9, DurationMicros: micros(1)}

	f := fetch()
	stale, err := w.FinishFetch(t.Context(), f, file)
	require.NoError(t, err)
	require.False(t, stale)
	require.Equal(t, video.ReadyStatus, statusOf(f))
	w.requireUnchanged(func() {
		require.NoError(t, w.FailVideo(t.Context(), f, fault.New(fault.URLFetchFailed, "")), "a late failure is ignored")
	})

	f = fetch()
	require.NoError(t, w.DeleteVideo(t.Context(), caller, f.VideoID))
	w.requireUnchanged(func() {
		stale, err = w.FinishFetch(t.Context(), f, file)
		require.NoError(t, err)
		require.True(t, stale, "its bytes must be deleted")
		require.NoError(t, w.FailVideo(t.Context(), f, errors.New("late")))
	})

	f = fetch()
	long := file
	long.DurationMicros = micros(4*3600*1_000_000 + 1)
	stale, err = w.FinishFetch(t.Context(), f, long)
	require.NoError(t, err)
	require.True(t, stale, "its bytes must be deleted")
	require.Equal(t, fault.VideoTooLong, stateOf(w, videos, f.VideoID).Error.Code)

	f = fetch()
	require.NoError(t, w.FailVideo(t.Context(), f, fault.New(fault.URLForbidden, "an inner address")))
	require.Equal(t, &video.Failure{Code: fault.URLForbidden, Message: "an inner address"}, stateOf(w, videos, f.VideoID).Error)

	f = fetch()
	require.NoError(t, w.FailVideo(t.Context(), f, errors.New("dial tcp 10.0.0.7: secret")))
	got := stateOf(w, videos, f.VideoID).Error
	require.Equal(t, fault.URLFetchFailed, got.Code)
	require.NotContains(t, got.Message, "secret", "the text of an internal error is not shown to the caller")
}

// TestPurgeVideo records once that the bytes of a deleted video are gone.
func TestPurgeVideo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	videoID := w.readyVideo(caller)
	removal := Removal{AccountID: caller.AccountID, VideoID: videoID, Attempt: 1}
	w.requireUnchanged(func() {
		require.NoError(t, w.PurgeVideo(t.Context(), removal), "the video exists")
		require.NoError(t, w.PurgeVideo(t.Context(), Removal{AccountID: caller.AccountID, VideoID: "video_01JNQ3ZC8A0123456789ABCDEF"}))
	})
	require.NoError(t, w.DeleteVideo(t.Context(), caller, videoID))
	require.NoError(t, w.PurgeVideo(t.Context(), removal))
	require.NotNil(t, stateOf(w, videos, videoID).PurgedAt)
	w.requireUnchanged(func() { require.NoError(t, w.PurgeVideo(t.Context(), removal)) })
	w.requireLaws()
}
