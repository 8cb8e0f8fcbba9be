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
	Now     func() time.Time
}

// folder is the start of the keys of a recording.
func folder(streamID string) string {
	return strings.TrimSuffix(objects.RecordingKey(streamID, ""), "/")
}

// Open returns the recorder of a stream.
func (r Recordings) Open(st stream.State, stored func(stream.Part)) (live.Recorder, error) {
	return record.New(record.Options{Folder: folder(st.ID), Store: r.Objects, Stored: stored, Now: r.Now}), nil
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
