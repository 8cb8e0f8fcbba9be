package jobs

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
)

// recordings has no files.
type recordings struct {
	finished, removed []string
	err               error
}

func (r *recordings) Finish(_ context.Context, streamID string) error {
	r.finished = append(r.finished, streamID)
	return r.err
}

func (r *recordings) Remove(_ context.Context, streamID string) error {
	r.removed = append(r.removed, streamID)
	return r.err
}

// TestAFailedRecordingIsTriedAgain: River repeats a job that returns an error.
func TestAFailedRecordingIsTriedAgain(t *testing.T) {
	t.Parallel()
	store := &recordings{err: errors.New("the disk is full")}
	o := Options{Recordings: store, Log: slog.New(slog.DiscardHandler)}
	job := &river.Job[recordingArgs]{JobRow: &rivertype.JobRow{Attempt: 1}, Args: recordingArgs{StreamID: "st_1"}}
	require.ErrorIs(t, o.finish(t.Context(), job), store.err)
	store.err = nil
	require.NoError(t, o.finish(t.Context(), job))
	require.Equal(t, []string{"st_1", "st_1"}, store.finished)
}

// TestAFailedRemovalIsTriedAgain: the objects of a recording must go.
func TestAFailedRemovalIsTriedAgain(t *testing.T) {
	t.Parallel()
	store := &recordings{err: errors.New("the disk is away")}
	o := Options{Recordings: store, Log: slog.New(slog.DiscardHandler)}
	job := &river.Job[removeRecordingArgs]{JobRow: &rivertype.JobRow{Attempt: 1}, Args: removeRecordingArgs{StreamID: "st_1"}}
	require.ErrorIs(t, o.remove(t.Context(), job), store.err)
	store.err = nil
	require.NoError(t, o.remove(t.Context(), job))
	require.Equal(t, []string{"st_1", "st_1"}, store.removed)
}
