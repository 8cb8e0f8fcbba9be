package video

import (
	"fmt"
	"maps"
	"time"
)

// Status is the position of a video in its life.
type Status string

// The statuses of the contract, and removed, which the API never shows.
const (
	AwaitingUpload Status = "awaiting_upload"
	Processing     Status = "processing"
	ReadyStatus    Status = "ready"
	FailedStatus   Status = "failed"
	Removed        Status = "removed"
)

// Source is the way in which the bytes arrive.
type Source string

// The sources.
const (
	SourceUpload Source = "upload"
	SourceURL    Source = "url"
)

// MaxBytes is the largest size of a video, 2 GiB (docs/contract.md#limits).
const MaxBytes int64 = 2147483648

// UploadWindow is how long a video with a presigned URL waits for its upload.
const UploadWindow = 24 * time.Hour

// State is one video. The zero value is a video that does not exist.
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
	// DecodedMicros is the length that decoding found, in microseconds. It is nil unless it
	// differs from the computed length.
	DecodedMicros *int64            `json:"decoded_micros,omitempty"`
	Error         *Failure          `json:"error,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	ExpiresAt     *time.Time        `json:"expires_at,omitempty"`
	CreatedAt     time.Time         `json:"created_at"`
	// PurgedAt is the time at which the bytes of a removed video were gone; else nil.
	PurgedAt *time.Time `json:"purged_at,omitempty"`
	// OpenAnalyses are the analyses of this video that have not ended. The map is never
	// changed in place.
	OpenAnalyses map[string]bool `json:"open_analyses,omitempty"`
}

// Exists is true from registration until removal.
func (s State) Exists() bool { return s.Status != "" && s.Status != Removed }

// DurationMicros returns the length in microseconds, or nil when it is unknown. The decoded
// length has priority over the computed one. The length in the container's header is never
// used.
func (s State) DurationMicros() *int64 {
	switch {
	case s.DecodedMicros != nil:
		return s.DecodedMicros
	case s.File != nil:
		return s.File.DurationMicros
	}
	return nil
}

// BilledSeconds returns the length rounded up to a whole second, or false when it is
// unknown (docs/contract.md#billed-seconds).
func (s State) BilledSeconds() (int64, bool) {
	d := s.DurationMicros()
	if d == nil {
		return 0, false
	}
	return WholeSeconds(*d), true
}

// WholeSeconds rounds microseconds up to whole seconds.
func WholeSeconds(micros int64) int64 { return (micros + 999_999) / 1_000_000 }

// DurationS returns the length in seconds, or nil when it is unknown.
func (s State) DurationS() *float64 {
	micros := s.DurationMicros()
	if micros == nil {
		return nil
	}
	d := float64(*micros) / 1e6
	return &d
}

// HeldBytes returns the storage that the video uses or may use: the size of its file, or
// the limit of its upload. known is false when the size can still be anything.
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

// Evolve folds one event into the state. It panics on an unknown event.
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
	case Purged:
		s.PurgedAt = &e.At
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
