package live

import (
	"context"

	"vqa/streaming/assemble"
	"vqa/streaming/decode"
)

// Sampler is the sampler of a session.
type Sampler interface {
	Push(p assemble.Picture)
	Next(ctx context.Context) (decode.Sample, error)
	Close()
}

// SampleWith lets a host use another sampler than ffmpeg.
func (h *Host) SampleWith(f func() Sampler) { h.sample = func(func()) sampler { return f() } }
