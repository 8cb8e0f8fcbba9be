package public

import (
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"vqa/domain/analysis"
	"vqa/domain/id"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// Type is the type of a public event. The list is closed within v1.
type Type string

// The types (docs/contract.md#webhook-events).
const (
	VideoReady        Type = "video.ready"
	VideoFailed       Type = "video.failed"
	AnalysisCompleted Type = "analysis.completed"
	AnalysisFailed    Type = "analysis.failed"
	AnalysisCanceled  Type = "analysis.canceled"
	StreamEnded       Type = "stream.ended"
)

// Beginning is an id that comes before the first event of every feed.
const Beginning = string(id.Event) + "_00000000000000000000000000"

// Event is a public event of an account.
type Event struct {
	ID   string
	Type Type
	// At is the time of the event.
	At       time.Time
	Livemode bool
	// Sequence is the version of the resource right after the event, > 0.
	Sequence int64
	// Position is the position in the log. The API does not show it.
	Position int64
	// Video, Analysis or Stream is the resource right after the event. The others are nil.
	Video    *video.State
	Analysis *analysis.State
	Stream   *stream.State
}

// kind returns the public type and the time of a recorded event. ok is false for an event
// that is not public.
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
	case stream.Ended:
		return StreamEnded, e.At, true
	default:
		return "", time.Time{}, false
	}
}

// ID returns the public id of a recorded event: a ULID of the event's time and the first
// ten bytes of its chain. The same event always has the same id, and the chain makes it
// impossible to guess. ok is false for an event that is not public.
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

// chainOf returns the first bytes of the chain, which an id contains. ok is false for text
// that is not an event id.
func chainOf(eventID string) (beginning []byte, ok bool) {
	text, ok := strings.CutPrefix(eventID, string(id.Event)+"_")
	if !ok || !id.Valid(id.Event, eventID) {
		return nil, false
	}
	u, err := ulid.ParseStrict(text)
	return u.Entropy(), err == nil
}

// newEvent returns the public form of an event. history is the history of its stream, at
// least up to the event.
func newEvent(r eventstore.Recorded, history []eventstore.Recorded) (Event, error) {
	t, at, ok := kind(r.Event)
	if !ok {
		return Event{}, fmt.Errorf("event at position %d: %s is not public", r.Position, r.Event.EventType())
	}
	e := Event{Type: t, At: at, Sequence: r.Version, Position: r.Position}
	e.ID, _ = ID(r)
	if int64(len(history)) < r.Version {
		return Event{}, fmt.Errorf("event at position %d: its stream was read only up to version %d", r.Position, len(history))
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
	case fold.Stream.Category():
		s, err := fold.Stream.Fold(stream.State{}, history...)
		e.Stream, e.Livemode = &s, s.Livemode
		return e, err
	default:
		return Event{}, fmt.Errorf("event at position %d: stream %s has no public resource", r.Position, r.Stream)
	}
}
