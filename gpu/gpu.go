package gpu

import (
	"context"
	"errors"

	"vqa/domain/evidence"
)

// ErrSaturated is the cause of an *UnavailableError when engines are there and well, but
// have all the work that they take: adding more would only lengthen queues.
var ErrSaturated = errors.New("every engine has all the work it takes")

// MaxFrames is the number of frames one Request may hold.
const MaxFrames = 64

// Engine detects objects in pictures.
type Engine interface {
	// Detect looks for the terms in every frame. Errors: *UnavailableError when no
	// engine answered, *InferenceError when it refused or failed on this input, and
	// an error that wraps ctx.Err() when ctx ended first.
	Detect(ctx context.Context, req Request) (Response, error)
	// Ready returns nil when Detect can be expected to work now, else an
	// *UnavailableError. It does not wait for an engine that is starting.
	Ready(ctx context.Context) error
	// Info describes the model. Errors as for Detect.
	Info(ctx context.Context) (Info, error)
}

// Request is what to look at and what to look for.
type Request struct {
	// Frames are JPEG files, 1 to MaxFrames; 512 pixels on the longer side is what
	// the embedded model makes use of.
	Frames [][]byte
	// Terms are class names of the model, at least one, unique. A term that the
	// model was not taught comes back as not Known.
	Terms []string
	// WantPose asks for the joints of people.
	WantPose bool
	// WantColors asks for the color names inside every box; an engine whose Info
	// lists no Colors cannot give them and fails.
	WantColors bool
	// WantShades asks for the brightness of the frames; an engine whose Info has no Shades
	// cannot tell it and fails.
	WantShades bool
}

// Response is what was seen.
type Response struct {
	// Frames holds the detections of each frame of the request, in its order. Scores
	// are raw: domain/answer.Calibration makes probabilities of them.
	Frames [][]evidence.Detection
	// Shades holds evidence.Frame.Shades of each frame, when they were asked for.
	Shades [][]byte
	// Known says for each of the request's terms whether the model can assess it.
	Known []bool
}

// Info describes the model behind an engine.
type Info struct {
	// Name and Version are those of the protocol.
	Name, Version string
	// Weights names what the model was trained as, for the evidence of an answer and
	// to choose its calibration; Name when the server does not say.
	Weights string
	// Digest is the SHA-256 of the weights in lower-case hexadecimal, 64 digits; "" when
	// the server does not say.
	Digest string
	// Worker names the serving program and its version, "vqa-worker/1.0.0"; "" when the
	// server does not say.
	Worker string
	// Vocabulary lists every term that the model knows; nil when it does not say.
	Vocabulary []string
	// Colors names the columns of evidence.Detection.Colors (evidence.Evidence.Colors); nil when
	// it has none.
	Colors []string
	// Shades: it tells evidence.Frame.Shades.
	Shades bool
	// Concurrency is the number of frames that the engine works on at once, at least
	// 1: with fewer frames in flight it idles.
	Concurrency int
}

// UnavailableError says that no engine answered: none is reachable, it is starting,
// overloaded, or did not answer in time. The same request may succeed later.
type UnavailableError struct{ Err error }

// Error implements error.
func (e *UnavailableError) Error() string { return "inference unavailable: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// InferenceError says that an engine answered, but that it failed on this input or
// that its answer cannot be true. The same request is expected to fail again.
type InferenceError struct{ Err error }

// Error implements error.
func (e *InferenceError) Error() string { return "inference failed: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *InferenceError) Unwrap() error { return e.Err }
