package video

import "time"

// Command is a request to change a video.
type Command interface{ isCommand() }

// Registration is what every new video has.
type Registration struct {
	ID        string
	AccountID string
	Livemode  bool
	Metadata  map[string]string
}

// RegisterUpload announces a video that the caller will upload.
type RegisterUpload struct {
	Registration
	Filename    *string
	ContentType string
	// DeclaredBytes is the announced size, or nil.
	DeclaredBytes *int64
	// ExpiresAt ends the window for completing the upload.
	ExpiresAt time.Time
}

// RegisterURL announces a video that the service will fetch.
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

// RegisterStored records a video of the service itself whose bytes are in the object
// store already.
type RegisterStored struct {
	Registration
	Filename string
	File     File
}

// Finish makes a video ready with what was stored and probed.
type Finish struct{ File File }

// Fail ends a video that cannot be used.
type Fail struct{ Error Failure }

// OpenAnalysis says that an analysis of the video begins.
type OpenAnalysis struct{ AnalysisID string }

// CloseAnalysis says that an analysis of the video is terminal.
type CloseAnalysis struct {
	AnalysisID string
	// DecodedMicros is the length that the analysis decoded, in microseconds; 0 when it did
	// not decode the whole video.
	DecodedMicros int64
}

// Delete removes the video.
type Delete struct{}

func (RegisterUpload) isCommand()  {}
func (RegisterURL) isCommand()     {}
func (RegisterFixture) isCommand() {}
func (RegisterStored) isCommand()  {}
func (Finish) isCommand()          {}
func (Fail) isCommand()            {}
func (OpenAnalysis) isCommand()    {}
func (CloseAnalysis) isCommand()   {}
func (Delete) isCommand()          {}
