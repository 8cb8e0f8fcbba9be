package streams

import (
	"context"
	"errors"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/handlers/httpapi"
	"vqa/handlers/intake/scratch"
	"vqa/handlers/objects"
	"vqa/streaming/assemble"
	"vqa/streaming/live"
	"vqa/streaming/record"
)

// History reads the events of a stream of the log.
type History interface {
	LoadAll(ctx context.Context, id eventstore.StreamID) ([]eventstore.Recorded, error)
}

// Recordings stores the recordings of live streams. It is safe for concurrent use.
type Recordings struct {
	Objects *objects.Store
	FFmpeg  record.FFmpeg
	History History
	Limits  Limits
	Now     func() time.Time
}

// folder is the start of the keys of a recording.
func folder(streamID string) string {
	return strings.TrimSuffix(objects.RecordingKey(streamID, ""), "/")
}

// Limits bounds the recordings of accounts.
type Limits interface {
	// RecordingLimit returns the bytes that a new recording may have. bounded is false when there is no limit.
	RecordingLimit(ctx context.Context, accountID string) (bytes int64, bounded bool, err error)
}

// Open returns the recorder of a stream. Error: quota_exceeded.
func (r Recordings) Open(st stream.State, report live.Recording) (live.Recorder, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	limit, bounded, err := r.Limits.RecordingLimit(ctx, st.AccountID)
	if err != nil {
		return nil, err
	}
	recorder := record.New(record.Options{Folder: folder(st.ID), Store: r.Objects, Stored: report.Stored, Failed: report.Failed, Now: r.Now})
	if !bounded {
		return recorder, nil
	}
	return &boundedRecorder{recorder, limit, report.Full}, nil
}

// boundedRecorder ends a recording at the quota of the account. It is for one goroutine.
type boundedRecorder struct {
	live.Recorder
	left int64
	full func(*fault.Fault)
}

// Push implements live.Recorder.
func (b *boundedRecorder) Push(p assemble.Picture) {
	if size := int64(len(p.Data)); size <= b.left {
		b.left -= size
		b.Recorder.Push(p)
		return
	}
	if b.left >= 0 {
		b.full(fault.New(fault.QuotaExceeded, "The storage quota of the account is used up. Delete videos or recordings to free space."))
	}
	b.left = -1 // a later, smaller picture must not follow a gap
}

// Finish implements jobs.Recordings. A recording that is deleted meanwhile leaves no files.
func (r Recordings) Finish(ctx context.Context, streamID string) error {
	parts, deleted, err := r.parts(ctx, streamID)
	if err == nil && !deleted {
		if err := r.finish(ctx, streamID, parts); err != nil {
			return err
		}
		_, deleted, err = r.parts(ctx, streamID)
	}
	if err != nil || !deleted {
		return err
	}
	return r.Remove(ctx, streamID)
}

// Remove implements jobs.Recordings.
func (r Recordings) Remove(ctx context.Context, streamID string) error {
	return r.Objects.DeleteRecording(ctx, streamID)
}

// parts returns the parts that the log has, and whether the recording was deleted.
func (r Recordings) parts(ctx context.Context, streamID string) (parts []stream.Part, deleted bool, err error) {
	recorded, err := r.History.LoadAll(ctx, fold.Stream.Stream(streamID))
	if err != nil {
		return nil, false, err
	}
	for _, e := range recorded {
		switch e := e.Event.(type) {
		case stream.PartRecorded:
			parts = append(parts, e.Part)
		case stream.RecordingDeleted:
			deleted = true
		}
	}
	return parts, deleted, nil
}

// finish makes the files of the parts.
func (r Recordings) finish(ctx context.Context, streamID string, parts []stream.Part) error {
	temp, err := scratch.New()
	if err != nil {
		return err
	}
	err = record.Finisher{Store: r.Objects, FFmpeg: r.FFmpeg}.Finish(ctx, folder(streamID), parts, temp.Path)
	return errors.Join(err, temp.Remove())
}

const (
	// finishPatience is how long a request waits for the files of a recording that has just ended.
	finishPatience = 10 * time.Second
	finishPoll     = 100 * time.Millisecond
	// mp4Patience is the time after the end of a stream from which its recording is shown without an MP4: ffmpeg
	// may never accept the pictures, and the H.264 stream is stored before.
	mp4Patience = 10 * time.Minute
)

// await waits until the files of a recording are stored, for a moment. The MP4 is stored last, and mp4 is false when it
// is given up. Error: resource_conflict.
func (r Recordings) await(ctx context.Context, st stream.State) (mp4 bool, err error) {
	patience, cancel := context.WithTimeout(ctx, finishPatience)
	defer cancel()
	for {
		_, err := r.Objects.Stat(patience, record.MP4Key(folder(st.ID)))
		if err == nil || !fault.Has(err, fault.ResourceNotFound) && patience.Err() == nil {
			return err == nil, err
		}
		if r.Now().Sub(*st.EndedAt) > mp4Patience {
			if _, err := r.Objects.Stat(patience, record.H264Key(folder(st.ID))); err == nil {
				return false, nil
			}
		}
		select {
		case <-time.After(finishPoll):
		case <-patience.Done():
			return false, fault.New(fault.ResourceConflict, "The recording is being stored. Try again in a few seconds.").WithRetryAfter(5)
		}
	}
}

// Recording implements httpapi.LiveStreams.
func (n *Node) Recording(ctx context.Context, st stream.State) (httpapi.Recording, error) {
	mp4, err := n.Recordings.await(ctx, st)
	if err != nil {
		return httpapi.Recording{}, err
	}
	found := httpapi.Recording{
		Key: record.H264Key(folder(st.ID)), DurationMillis: st.Recorded.DurationMillis, Frames: st.Recorded.Frames,
	}
	if mp4 {
		found.MP4Key = record.MP4Key(folder(st.ID))
	}
	return found, nil
}
