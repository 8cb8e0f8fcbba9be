package video

import "time"

// Command is a request to change a video.
type Command interface{ isCommand() }

// Registration has the fields of every new video.
type Registration struct {
	ID        string
	AccountID string
	Livemode  bool
	Metadata  map[string]string
}

// RegisterUpload registers a video that the caller will upload.
type RegisterUpload struct {
	Registration
	Filename    *string
	ContentType string
	// DeclaredBytes is the announced size, or nil.
	DeclaredBytes *int64
	// ExpiresAt is the end of the upload window.
	ExpiresAt time.Time
}

// RegisterURL registers a video that the service will fetch.
type RegisterURL struct {
	Registration
	URL string
}

// RegisterFixture gives a sandbox its own copy of the fixture video.
type RegisterFixture struct {
	Registration
	Filename string
	File     File
}

// RegisterStored registers a video of the service itself whose bytes are already in the
// object store.
type RegisterStored struct {
	Registration
	Filename string
	File     File
}

// Finish makes a video ready. File describes the stored file and what probing found.
type Finish struct{ File File }

// Fail marks a video as unusable.
type Fail struct{ Error Failure }

// OpenAnalysis records that an analysis of the video starts.
type OpenAnalysis struct{ AnalysisID string }

// CloseAnalysis records that an analysis of the video has ended.
type CloseAnalysis struct {
	AnalysisID string
	// DecodedMicros is the length that the analysis decoded, in microseconds. It is 0 when
	// the analysis did not decode the whole video.
	DecodedMicros int64
}

// Delete removes the video.
type Delete struct{}

// Purge records that the bytes of a deleted video are gone.
type Purge struct{}

func (RegisterUpload) isCommand()  {}
func (RegisterURL) isCommand()     {}
func (RegisterFixture) isCommand() {}
func (RegisterStored) isCommand()  {}
func (Finish) isCommand()          {}
func (Fail) isCommand()            {}
func (OpenAnalysis) isCommand()    {}
func (CloseAnalysis) isCommand()   {}
func (Delete) isCommand()          {}
func (Purge) isCommand()           {}
