package video

import (
	"time"

	"vqa/domain/fault"
)

// Event is a fact about a video.
type Event interface {
	EventType() string
	isEvent()
}

// Registered says that a video was registered.
type Registered struct {
	VideoID   string `json:"video_id"`
	AccountID string `json:"account_id"`
	// Livemode is false for a video created with a test key.
	Livemode bool   `json:"livemode"`
	Source   Source `json:"source"`
	// URL is the address that the video is fetched from. It is absent for uploads.
	URL string `json:"url,omitempty"`
	// Filename is the name that the caller gave the file.
	Filename *string `json:"filename,omitempty"`
	// ContentType is the declared media type.
	ContentType string `json:"content_type,omitempty"`
	// DeclaredBytes is the declared size, > 0.
	DeclaredBytes *int64 `json:"declared_bytes,omitempty"`
	// Fixture is true for a video of the service itself that has no stored bytes.
	Fixture bool `json:"fixture,omitempty"`
	// Metadata is the caller's own data.
	Metadata map[string]string `json:"metadata,omitempty"`
	// ExpiresAt is the end of the upload window. It is absent for other sources.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	At        time.Time  `json:"at"`
}

// File is a stored video and the result of probing it. A nil field was not found.
type File struct {
	// ObjectKey names the stored bytes; empty for a fixture.
	ObjectKey string `json:"object_key,omitempty"`
	// ContentType is the media type that probing found.
	ContentType string `json:"content_type"`
	// SizeBytes is >= 0.
	SizeBytes int64 `json:"size_bytes"`
	// ClaimedMicros is the length in the container's header, in microseconds, > 0. Nothing
	// is decided by it, because the header can contain any number.
	ClaimedMicros *int64 `json:"claimed_micros,omitempty"`
	// DurationMicros is the length in microseconds, > 0, computed from the timestamps of
	// the video stream. For files stored before version 2 it is the length in the
	// container's header.
	DurationMicros *int64 `json:"duration_micros,omitempty"`
	// Width and Height are in pixels, after rotation.
	Width  *int `json:"width,omitempty"`
	Height *int `json:"height,omitempty"`
	// FPS is the number of frames per second, > 0.
	FPS *float64 `json:"fps,omitempty"`
}

// Failure is the reason why a video cannot be used.
type Failure struct {
	Code fault.Code `json:"code"`
	// Message is the explanation for a person.
	Message string `json:"message"`
}

// Ready says that a video can be analyzed.
type Ready struct {
	VideoID string    `json:"video_id"`
	File    File      `json:"file"`
	At      time.Time `json:"at"`
}

// Failed says that a video will never be ready.
type Failed struct {
	VideoID string    `json:"video_id"`
	Error   Failure   `json:"error"`
	At      time.Time `json:"at"`
}

// AnalysisOpened says that an analysis uses the video.
type AnalysisOpened struct {
	VideoID    string    `json:"video_id"`
	AnalysisID string    `json:"analysis_id"`
	At         time.Time `json:"at"`
}

// AnalysisClosed says that an analysis no longer uses the video.
type AnalysisClosed struct {
	VideoID    string    `json:"video_id"`
	AnalysisID string    `json:"analysis_id"`
	At         time.Time `json:"at"`
}

// Measured says that decoding found another length than the known one.
type Measured struct {
	VideoID string `json:"video_id"`
	// DecodedMicros is the decoded length in microseconds, > 0.
	DecodedMicros int64     `json:"decoded_micros"`
	At            time.Time `json:"at"`
}

// Deleted says that the owner deleted the video.
type Deleted struct {
	VideoID string `json:"video_id"`
	// ObjectKey names the stored bytes, which can now be removed. It is absent when there
	// are none.
	ObjectKey string    `json:"object_key,omitempty"`
	At        time.Time `json:"at"`
}

// Purged says that the stored bytes of a deleted video are gone: the video, its upload, its
// survey and its artifacts.
type Purged struct {
	VideoID string    `json:"video_id"`
	At      time.Time `json:"at"`
}

// EventType returns the stored name.
func (Registered) EventType() string { return "video.registered" }

// EventType returns the stored name.
func (Ready) EventType() string { return "video.ready" }

// EventType returns the stored name.
func (Failed) EventType() string { return "video.failed" }

// EventType returns the stored name.
func (AnalysisOpened) EventType() string { return "video.analysis_opened" }

// EventType returns the stored name.
func (AnalysisClosed) EventType() string { return "video.analysis_closed" }

// EventType returns the stored name.
func (Measured) EventType() string { return "video.measured" }

// EventType returns the stored name.
func (Deleted) EventType() string { return "video.deleted" }

// EventType returns the stored name.
func (Purged) EventType() string { return "video.purged" }

func (Registered) isEvent()     {}
func (Ready) isEvent()          {}
func (Failed) isEvent()         {}
func (AnalysisOpened) isEvent() {}
func (AnalysisClosed) isEvent() {}
func (Measured) isEvent()       {}
func (Deleted) isEvent()        {}
func (Purged) isEvent()         {}
