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

// Open returns the recorder of a stream.
func (r Recordings) Open(st stream.State, stored func(stream.Part)) (live.Recorder, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	limit, bounded, err := r.Limits.RecordingLimit(ctx, st.AccountID)
	if err != nil {
		return nil, err
	}
	recorder := record.New(record.Options{Folder: folder(st.ID), Store: r.Objects, Stored: stored, Now: r.Now})
	if !bounded {
		return recorder, nil
	}
	return &boundedRecorder{recorder, limit}, nil
}

// boundedRecorder ends a recording at the quota of the account. It is for one goroutine.
type boundedRecorder struct {
	live.Recorder
	left int64
}

// Push implements live.Recorder.
func (b *boundedRecorder) Push(p assemble.Picture) {
	if size := int64(len(p.Data)); size <= b.left {
		b.left -= size
		b.Recorder.Push(p)
		return
	}
	b.left = -1 // a later, smaller picture must not follow a gap
}

// Finish implements jobs.Recordings.
func (r Recordings) Finish(ctx context.Context, streamID string) error {
	recorded, err := r.History.LoadAll(ctx, fold.Stream.Stream(streamID))
	if err != nil {
		return err
	}
	var parts []stream.Part
	for _, e := range recorded {
		if p, ok := e.Event.(stream.PartRecorded); ok {
			parts = append(parts, p.Part)
		}
	}
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
)

// await waits until the files of a recording are stored, for a moment. The MP4 is stored last. Error:
// resource_conflict.
func (r Recordings) await(ctx context.Context, st stream.State) error {
	patience, cancel := context.WithTimeout(ctx, finishPatience)
	defer cancel()
	for {
		_, err := r.Objects.Stat(patience, record.MP4Key(folder(st.ID)))
		if err == nil || !fault.Has(err, fault.ResourceNotFound) && patience.Err() == nil {
			return err
		}
		select {
		case <-time.After(finishPoll):
		case <-patience.Done():
			return fault.New(fault.ResourceConflict, "The recording is being stored. Try again in a few seconds.").WithRetryAfter(5)
		}
	}
}

// Recording implements httpapi.LiveStreams.
func (n *Node) Recording(ctx context.Context, st stream.State) (httpapi.Recording, error) {
	if err := n.Recordings.await(ctx, st); err != nil {
		return httpapi.Recording{}, err
	}
	return httpapi.Recording{
		Key: record.H264Key(folder(st.ID)), MP4Key: record.MP4Key(folder(st.ID)),
		DurationMillis: st.Recorded.DurationMillis, Frames: st.Recorded.Frames,
	}, nil
}
