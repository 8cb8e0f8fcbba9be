package video

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// Decide returns the events of a command, or the fault that refuses it: resource_not_found
// or resource_conflict.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	if e, ok := registration(command, now); ok {
		if s.Status != "" {
			return nil, fault.New(fault.ResourceConflict, "The video already exists.")
		}
		return e, nil
	}
	if _, ok := command.(Purge); ok && s.Status == Removed {
		if s.PurgedAt != nil {
			return nil, nil
		}
		return []Event{Purged{VideoID: s.ID, At: now}}, nil
	}
	if !s.Exists() {
		return nil, fault.New(fault.ResourceNotFound, "")
	}
	switch c := command.(type) {
	case Finish:
		return decideFinish(s, c, now)
	case Fail:
		if s.Status != AwaitingUpload && s.Status != Processing {
			return nil, conflict(s, "cannot fail")
		}
		return []Event{Failed{VideoID: s.ID, Error: c.Error, At: now}}, nil
	case OpenAnalysis:
		if s.Status != ReadyStatus {
			return nil, conflict(s, "cannot be analyzed")
		}
		return []Event{AnalysisOpened{VideoID: s.ID, AnalysisID: c.AnalysisID, At: now}}, nil
	case CloseAnalysis:
		return decideClose(s, c, now), nil
	case Delete:
		return decideDelete(s, now)
	case Purge:
		return nil, conflict(s, "has not been deleted")
	default:
		panic(fmt.Sprintf("video: unknown command %T", command))
	}
}

func registration(command Command, now time.Time) ([]Event, bool) {
	switch c := command.(type) {
	case RegisterUpload:
		e := registered(c.Registration, SourceUpload, now)
		e.Filename, e.ContentType, e.DeclaredBytes, e.ExpiresAt = c.Filename, c.ContentType, c.DeclaredBytes, &c.ExpiresAt
		return []Event{e}, true
	case RegisterURL:
		e := registered(c.Registration, SourceURL, now)
		e.URL = c.URL
		return []Event{e}, true
	case RegisterFixture:
		e := registered(c.Registration, SourceUpload, now)
		e.Filename, e.ContentType, e.Fixture = &c.Filename, c.File.ContentType, true
		return []Event{e, Ready{VideoID: c.ID, File: c.File, At: now}}, true
	case RegisterStored:
		e := registered(c.Registration, SourceUpload, now)
		e.Filename, e.ContentType = &c.Filename, c.File.ContentType
		return []Event{e, Ready{VideoID: c.ID, File: c.File, At: now}}, true
	}
	return nil, false
}

func registered(r Registration, source Source, now time.Time) Registered {
	return Registered{
		VideoID: r.ID, AccountID: r.AccountID, Livemode: r.Livemode, Source: source, Metadata: r.Metadata, At: now,
	}
}

func decideFinish(s State, c Finish, now time.Time) ([]Event, error) {
	switch s.Status {
	case AwaitingUpload, Processing:
		return []Event{Ready{VideoID: s.ID, File: c.File, At: now}}, nil
	case ReadyStatus:
		return nil, nil
	default:
		return nil, conflict(s, "cannot be completed")
	}
}

// decideClose also records the decoded length when it differs from the known length. Later
// holds and bills use it.
func decideClose(s State, c CloseAnalysis, now time.Time) []Event {
	if !s.OpenAnalyses[c.AnalysisID] {
		return nil
	}
	events := []Event{AnalysisClosed{VideoID: s.ID, AnalysisID: c.AnalysisID, At: now}}
	known := s.DurationMicros()
	if c.DecodedMicros > 0 && (known == nil || *known != c.DecodedMicros) {
		events = append(events, Measured{VideoID: s.ID, DecodedMicros: c.DecodedMicros, At: now})
	}
	return events
}

func decideDelete(s State, now time.Time) ([]Event, error) {
	if s.Fixture {
		// A test key can analyze no other video, so it would be useless without this one.
		return nil, fault.New(fault.ResourceConflict, "The fixture video of a test key cannot be deleted.")
	}
	if len(s.OpenAnalyses) > 0 {
		return nil, fault.Newf(fault.ResourceConflict, "%d analyses of this video are still running. Cancel them, or wait until they end.", len(s.OpenAnalyses))
	}
	key := ""
	if s.File != nil {
		key = s.File.ObjectKey
	}
	return []Event{Deleted{VideoID: s.ID, ObjectKey: key, At: now}}, nil
}

func conflict(s State, what string) error {
	return fault.Newf(fault.ResourceConflict, "The video is %s and %s.", s.Status, what)
}

// UploadLimit returns the largest number of bytes that an upload may have: the declared
// size plus 5%, or MaxBytes when none was declared. CheckUploadSize refuses anything
// larger.
func UploadLimit(declared *int64) int64 {
	if declared == nil {
		return MaxBytes
	}
	return min(*declared+*declared/20, MaxBytes)
}

// CheckUploadSize returns upload_incomplete for an upload whose size differs from the
// declared one by more than 5% (docs/contract.md#complete-video).
func CheckUploadSize(declared *int64, actual int64) error {
	if actual <= 0 {
		return fault.New(fault.UploadIncomplete, "Nothing was uploaded. Upload the file before you complete the video.").WithParam("size_bytes")
	}
	if declared == nil {
		return nil
	}
	if diff := actual - *declared; diff*20 > *declared || -diff*20 > *declared {
		return fault.Newf(fault.UploadIncomplete, "The upload has %d bytes, but size_bytes declared %d. Upload the file again.", actual, *declared).
			WithParam("size_bytes")
	}
	return nil
}
