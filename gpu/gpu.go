package gpu

import (
	"context"
	"errors"

	"vqa/domain/evidence"
)

// ErrSaturated is the cause of an *UnavailableError when all engines work but refuse further
// requests: another request would only lengthen their queues.
var ErrSaturated = errors.New("every engine is busy")

// MaxFrames is the number of frames one Request may hold.
const MaxFrames = 64

// Engine detects objects in frames.
type Engine interface {
	// Detect looks for the terms in every frame. Errors: *UnavailableError when no engine
	// answered, *InferenceError when it refused or failed on this input, and an error that
	// wraps ctx.Err() when ctx ended first.
	Detect(ctx context.Context, req Request) (Response, error)
	// Ready returns nil when Detect is expected to work now, else an *UnavailableError. It
	// does not wait for an engine that is starting.
	Ready(ctx context.Context) error
	// Info describes the model. Errors as for Detect.
	Info(ctx context.Context) (Info, error)
}

// Request is the frames to examine and the terms to look for.
type Request struct {
	// Frames are JPEG files, 1 to MaxFrames. The embedded model uses 640 pixels on the
	// longer side. An engine whose Info has PPM reads PPM files (P6, 8 bits), too.
	Frames [][]byte
	// Terms are class names of the model, at least one, unique. A term that the model does
	// not know comes back as not Known.
	Terms []string
	// WantPose requests the keypoints of people.
	WantPose bool
	// WantColors requests the colors inside every box. An engine whose Info lists no Colors
	// fails.
	WantColors bool
	// WantRotations examines the frames in turned views, too, which takes four times as long.
	// Boxes are in places of the upright frame. An engine whose Info has no Rotations fails.
	WantRotations bool
	// WantShades requests the brightness of the frames. An engine whose Info has no Shades
	// fails.
	WantShades bool
}

// Response holds the detections of a request.
type Response struct {
	// Frames holds the detections of each frame of the request, in its order. Scores are
	// raw: the calibration of domain/answer turns them into probabilities.
	Frames [][]evidence.Detection
	// Shades holds evidence.Frame.Shades of each frame, when requested.
	Shades [][]byte
	// Known says for each of the request's terms whether the model can assess it.
	Known []bool
}

// Info describes the model behind an engine.
type Info struct {
	// Name and Version are those of the protocol's model metadata.
	Name, Version string
	// Weights names the trained weights. It appears in receipts and selects the
	// calibration. It is Name when the server does not report it.
	Weights string
	// Digest is the SHA-256 of the weights in lower-case hexadecimal, 64 digits; "" when
	// the server does not report it.
	Digest string
	// Worker names the serving program and its version, "vqa-worker/1.0.0"; "" when the
	// server does not report it.
	Worker string
	// License names the license of the weights; "" when the server does not report it.
	License string
	// Vocabulary lists every term that the model knows; nil when it does not report them.
	Vocabulary []string
	// Colors names the columns of evidence.Detection.Colors (evidence.Evidence.Colors); nil
	// when the model has none.
	Colors []string
	// Shades is true when the engine can report evidence.Frame.Shades.
	Shades bool
	// Rotations is true when the engine can examine frames in turned views.
	Rotations bool
	// PPM is true when the engine reads frames in this format, which is larger and needs no codec.
	PPM bool
	// Concurrency is the number of frames that the engine processes at once, at least 1.
	// With fewer frames in flight it is not fully used.
	Concurrency int
}

// UnavailableError says that no engine answered: none is reachable, or it is starting,
// overloaded or too slow. The same request may succeed later.
type UnavailableError struct{ Err error }

// Error implements error.
func (e *UnavailableError) Error() string { return "inference unavailable: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// InferenceError says that an engine failed on this input, or that its response is invalid.
// The same request is expected to fail again.
type InferenceError struct{ Err error }

// Error implements error.
func (e *InferenceError) Error() string { return "inference failed: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *InferenceError) Unwrap() error { return e.Err }
