package live

import (
	"context"

	"golang.org/x/sync/semaphore"

	"vqa/domain/evidence"
)

// Engine detects objects in samples. The engines of package gpu fit with a small adapter.
type Engine interface {
	// Info describes the model.
	Info(ctx context.Context) (Info, error)
	// Detect looks for the terms in a sample. An error means that there are no detections. The session
	// then goes on with a later sample.
	Detect(ctx context.Context, r Request) (Response, error)
}

// Info describes the model of an engine.
type Info struct {
	// Weights names the trained weights. It selects the calibration.
	Weights string
	// Vocabulary has every term that the model knows; nil when it is open.
	Vocabulary []string
	// Colors names the columns of evidence.Detection.Colors; nil when the model has none.
	Colors []string
	// Shades is true when the engine can report evidence.Frame.Shades.
	Shades bool
}

// Request is a sample to examine and the terms to look for.
type Request struct {
	// JPEG is the sample.
	JPEG []byte
	// Terms are unique, at least one.
	Terms                            []string
	WantPose, WantColors, WantShades bool
}

// Response has what the engine found in a sample.
type Response struct {
	// Detections have raw scores. Detection.Term is an index of Request.Terms. The session owns them.
	Detections []evidence.Detection
	// Shades is evidence.Frame.Shades, when requested.
	Shades []byte
	// Known says for each of the terms whether the model can assess it.
	Known []bool
}

// turns bounds the calls of the engine that are in flight. Streams get their turns in the order in which
// they asked, and each asks for one at a time.
type turns struct{ free *semaphore.Weighted }

func newTurns(n int) turns { return turns{semaphore.NewWeighted(int64(n))} }

// take waits for a turn. The caller must call leave.
func (t turns) take(ctx context.Context) (leave func(), err error) {
	if err := t.free.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { t.free.Release(1) }, nil
}
