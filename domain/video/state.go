package video

import (
	"fmt"
	"maps"
	"time"
)

// Status is where a video is in its life.
type Status string

// The statuses of the contract, and removed, which is never shown.
const (
	AwaitingUpload Status = "awaiting_upload"
	Processing     Status = "processing"
	ReadyStatus    Status = "ready"
	FailedStatus   Status = "failed"
	Removed        Status = "removed"
)

// Source is how the bytes arrive.
type Source string

// The sources.
const (
	SourceUpload Source = "upload"
	SourceURL    Source = "url"
)

// MaxBytes is the largest video (api-v1.md, "Limits": 2 GiB).
const MaxBytes int64 = 2147483648

// UploadWindow is how long a presigned video may wait for its upload.
const UploadWindow = 24 * time.Hour

// State is one video. The zero State is that of a video that does not exist.
type State struct {
	ID            string  `json:"id,omitempty"`
	AccountID     string  `json:"account_id,omitempty"`
	Livemode      bool    `json:"livemode"`
	Status        Status  `json:"status,omitempty"`
	Source        Source  `json:"source,omitempty"`
	URL           string  `json:"url,omitempty"`
	Filename      *string `json:"filename,omitempty"`
	ContentType   string  `json:"content_type,omitempty"`
	DeclaredBytes *int64  `json:"declared_bytes,omitempty"`
	Fixture       bool    `json:"fixture,omitempty"`
	File          *File   `json:"file,omitempty"`
	// DecodedMicros is the length that decoding found, in microseconds, or nil while that is
	// not known to differ from the computed one.
	DecodedMicros *int64            `json:"decoded_micros,omitempty"`
	Error         *Failure          `json:"error,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	ExpiresAt     *time.Time        `json:"expires_at,omitempty"`
	CreatedAt     time.Time         `json:"created_at"`
	// OpenAnalyses are the analyses of this video that are not terminal. It is never
	// changed in place.
	OpenAnalyses map[string]bool `json:"open_analyses,omitempty"`
}

// Exists is true from registration until removal.
func (s State) Exists() bool { return s.Status != "" && s.Status != Removed }

// DurationMicros is the length in microseconds, or nil when it is unknown: what decoding
// found, else what was computed from timestamps, never what the container claims.
func (s State) DurationMicros() *int64 {
	switch {
	case s.DecodedMicros != nil:
		return s.DecodedMicros
	case s.File != nil:
		return s.File.DurationMicros
	}
	return nil
}

// BilledSeconds is the length rounded up to a whole second, or false when the
// length is unknown (open-points.md, "Credits").
func (s State) BilledSeconds() (int64, bool) {
	d := s.DurationMicros()
	if d == nil {
		return 0, false
	}
	return WholeSeconds(*d), true
}

// WholeSeconds rounds microseconds up to whole seconds.
func WholeSeconds(micros int64) int64 { return (micros + 999_999) / 1_000_000 }

// DurationS is the length in seconds, or nil when it is unknown.
func (s State) DurationS() *float64 {
	micros := s.DurationMicros()
	if micros == nil {
		return nil
	}
	d := float64(*micros) / 1e6
	return &d
}

// HeldBytes is the storage that the video takes, or was promised: the size of its file, or
// the most that its upload may have. known is false while it may bring any size.
func (s State) HeldBytes() (bytes int64, known bool) {
	switch {
	case s.Status == AwaitingUpload && s.DeclaredBytes != nil:
		return UploadLimit(s.DeclaredBytes), true
	case s.Status == AwaitingUpload, s.Status == Processing:
		return 0, false
	case s.Status == ReadyStatus && s.File != nil && s.File.ObjectKey != "":
		return s.File.SizeBytes, true
	default:
		return 0, true
	}
}

// Evolve folds one event into the state; it panics on an unknown one.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Registered:
		s = register(e)
	case Ready:
		s.Status, s.File, s.ContentType, s.ExpiresAt = ReadyStatus, &e.File, e.File.ContentType, nil
	case Failed:
		s.Status, s.Error, s.ExpiresAt = FailedStatus, &e.Error, nil
	case AnalysisOpened:
		s.OpenAnalyses = with(s.OpenAnalyses, e.AnalysisID)
	case AnalysisClosed:
		s.OpenAnalyses = without(s.OpenAnalyses, e.AnalysisID)
	case Measured:
		s.DecodedMicros = &e.DecodedMicros
	case Deleted:
		s.Status = Removed
	default:
		panic(fmt.Sprintf("video: unknown event %T", event))
	}
	return s
}

func register(e Registered) State {
	s := State{
		ID: e.VideoID, AccountID: e.AccountID, Livemode: e.Livemode, Status: AwaitingUpload, Source: e.Source,
		URL: e.URL, Filename: e.Filename, ContentType: e.ContentType, DeclaredBytes: e.DeclaredBytes,
		Fixture: e.Fixture, Metadata: e.Metadata, ExpiresAt: e.ExpiresAt, CreatedAt: e.At,
	}
	if e.Source == SourceURL {
		s.Status = Processing
	}
	return s
}

func with(set map[string]bool, id string) map[string]bool {
	next := make(map[string]bool, len(set)+1)
	maps.Copy(next, set)
	next[id] = true
	return next
}

func without(set map[string]bool, id string) map[string]bool {
	next := maps.Clone(set)
	delete(next, id)
	if len(next) == 0 {
		return nil
	}
	return next
}
