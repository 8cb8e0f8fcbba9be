package public

import (
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"vqa/domain/analysis"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// Type is what happened. The vocabulary is closed within v1.
type Type string

// The types (api-v1.md, "Webhook events").
const (
	VideoReady        Type = "video.ready"
	VideoFailed       Type = "video.failed"
	AnalysisCompleted Type = "analysis.completed"
	AnalysisFailed    Type = "analysis.failed"
	AnalysisCanceled  Type = "analysis.canceled"
	StreamEnded       Type = "stream.ended"
)

// Types are all of them.
func Types() []Type {
	return []Type{VideoReady, VideoFailed, AnalysisCompleted, AnalysisFailed, AnalysisCanceled, StreamEnded}
}

// Beginning is the id before the first event of every feed: what begins after it begins
// with the first.
const Beginning = string(id.Event) + "_00000000000000000000000000"

// Event is one that its account is told of.
type Event struct {
	ID   string
	Type Type
	// At is when it happened.
	At       time.Time
	Livemode bool
	// Sequence is the version of the resource right after the event, > 0.
	Sequence int64
	// Position is the place in the log. It is not shown.
	Position int64
	// Video or Analysis is the resource as it was right after the event; the other is nil.
	Video    *video.State
	Analysis *analysis.State
}

// kind is the type and the time of a recorded event; ok is false for one that is not
// public.
func kind(e eventstore.Event) (t Type, at time.Time, ok bool) {
	switch e := e.(type) {
	case video.Ready:
		return VideoReady, e.At, true
	case video.Failed:
		return VideoFailed, e.At, true
	case analysis.Completed:
		return AnalysisCompleted, e.At, true
	case analysis.Failed:
		return AnalysisFailed, e.At, true
	case analysis.Canceled:
		return AnalysisCanceled, e.At, true
	default:
		return "", time.Time{}, false
	}
}

// ID is the id under which an account knows a recorded event: the text of a ULID of the
// event's time and the first ten bytes of its chain. It is the same wherever it is made,
// and nobody can guess it. ok is false for an event that is not public.
func ID(r eventstore.Recorded) (eventID string, ok bool) {
	_, at, ok := kind(r.Event)
	if !ok {
		return "", false
	}
	var u ulid.ULID
	if err := u.SetTime(ulid.Timestamp(at)); err != nil {
		return "", false // a time after the year 10889
	}
	if err := u.SetEntropy(r.Chain[:len(u.Entropy())]); err != nil {
		return "", false
	}
	return string(id.Event) + "_" + u.String(), true
}

// chainOf is the beginning of the chain that an id holds; ok is false for text that is
// no id of an event.
func chainOf(eventID string) (beginning []byte, ok bool) {
	text, ok := strings.CutPrefix(eventID, string(id.Event)+"_")
	if !ok || !id.Valid(id.Event, eventID) {
		return nil, false
	}
	u, err := ulid.ParseStrict(text)
	return u.Entropy(), err == nil
}

// newEvent makes the public form of an event from the history of its stream, which
// reaches at least up to it.
func newEvent(r eventstore.Recorded, history []eventstore.Recorded) (Event, error) {
	t, at, ok := kind(r.Event)
	if !ok {
		return Event{}, fmt.Errorf("event at position %d: %s is not public", r.Position, r.Event.EventType())
	}
	e := Event{Type: t, At: at, Sequence: r.Version, Position: r.Position}
	e.ID, _ = ID(r)
	if int64(len(history)) < r.Version {
		return Event{}, fmt.Errorf("event at position %d: its stream ends at version %d", r.Position, len(history))
	}
	history = history[:r.Version]
	switch r.Stream.Category {
	case fold.Video.Category():
		v, err := fold.Video.Fold(video.State{}, history...)
		e.Video, e.Livemode = &v, v.Livemode
		return e, err
	case fold.Analysis.Category():
		a, err := fold.Analysis.Fold(analysis.State{}, history...)
		e.Analysis, e.Livemode = &a, a.Livemode
		return e, err
	default:
		return Event{}, fmt.Errorf("event at position %d: nothing public is in %s", r.Position, r.Stream)
	}
}
