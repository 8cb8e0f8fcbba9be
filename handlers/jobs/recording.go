package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
)

const (
	// recordingTimeout bounds one attempt at the files of a recording. Those of the longest session take
	// less than a minute.
	recordingTimeout = 10 * time.Minute
	// recordingAttempts, with the pauses of River between them, last about three days.
	recordingAttempts = 19
)

// Recordings makes the files of the recordings of live streams, and removes them.
type Recordings interface {
	// Finish makes the files. It may be repeated.
	Finish(ctx context.Context, streamID string) error
	// Remove deletes all objects of a recording. Missing objects are not an error.
	Remove(ctx context.Context, streamID string) error
}

// recordingArgs is a recording whose files must be made.
type recordingArgs struct {
	StreamID string `json:"stream_id" river:"unique"`
}

// Kind implements river.JobArgs.
func (recordingArgs) Kind() string { return "finish_recording" }

// FinishRecording enqueues the files of a recording. A second call adds nothing. River repeats a failed attempt.
func (c *Client) FinishRecording(ctx context.Context, streamID string) error {
	_, err := c.river.Insert(ctx, recordingArgs{streamID}, &river.InsertOpts{
		Queue: queueRecordings, MaxAttempts: recordingAttempts, UniqueOpts: river.UniqueOpts{ByArgs: true},
	})
	return err
}

// finish makes the files of a recording. The parts stay until they are made, so a failure loses nothing.
func (o Options) finish(ctx context.Context, job *river.Job[recordingArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, recordingTimeout)
	defer cancel()
	if err := o.Recordings.Finish(ctx, job.Args.StreamID); err != nil {
		o.Log.WarnContext(ctx, "could not finish a recording; trying again", "stream_id", job.Args.StreamID, "attempt", job.Attempt, "attempts", recordingAttempts, "error", err)
		return fmt.Errorf("finish the recording of %s: %w", job.Args.StreamID, err)
	}
	return nil
}

// removeRecordingArgs is a recording whose objects must go.
type removeRecordingArgs struct {
	StreamID string `json:"stream_id" river:"unique"`
}

// Kind implements river.JobArgs.
func (removeRecordingArgs) Kind() string { return "remove_recording" }

// RemoveRecording enqueues the removal of the objects of a recording. A second call adds nothing. River repeats a failed
// attempt.
func (c *Client) RemoveRecording(ctx context.Context, streamID string) error {
	_, err := c.river.Insert(ctx, removeRecordingArgs{streamID}, &river.InsertOpts{
		Queue: queueRecordingRemovals, MaxAttempts: recordingAttempts, UniqueOpts: river.UniqueOpts{ByArgs: true},
	})
	return err
}

// remove deletes the objects of a recording.
func (o Options) remove(ctx context.Context, job *river.Job[removeRecordingArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	if err := o.Recordings.Remove(ctx, job.Args.StreamID); err != nil {
		o.Log.WarnContext(ctx, "could not remove a recording; trying again", "stream_id", job.Args.StreamID, "attempt", job.Attempt, "attempts", recordingAttempts, "error", err)
		return fmt.Errorf("remove the recording of %s: %w", job.Args.StreamID, err)
	}
	return nil
}
