package lanes

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"vqa/gpu"
)

// quiet is the time after the latest call of a stream from which uploads have the engine alone. A stream
// on a slow engine makes a call every second.
const quiet = 2 * time.Second

// Lanes shares one engine. It is safe for concurrent use.
type Lanes struct {
	engine gpu.Engine
	now    func() time.Time

	mu      sync.Mutex
	streams int       // calls of streams in flight
	latest  time.Time // the end of the latest call of a stream
	// turns is the gate of uploads, once the engine has described itself.
	turns *semaphore.Weighted
}

// New returns lanes to an engine.
func New(engine gpu.Engine, now func() time.Time) *Lanes { return &Lanes{engine: engine, now: now} }

// Streams is the engine for live streams.
func (l *Lanes) Streams() gpu.Engine { return streams{l.engine, l} }

// Uploads is the engine for uploads.
func (l *Lanes) Uploads() gpu.Engine { return uploads{l.engine, l} }

type streams struct {
	gpu.Engine
	lanes *Lanes
}

// Detect implements gpu.Engine.
func (s streams) Detect(ctx context.Context, r gpu.Request) (gpu.Response, error) {
	s.lanes.count(1)
	defer s.lanes.count(-1)
	return s.Engine.Detect(ctx, r)
}

func (l *Lanes) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams += n
	l.latest = l.now()
}

// busy reports whether streams use the engine.
func (l *Lanes) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams > 0 || !l.latest.IsZero() && l.now().Sub(l.latest) < quiet
}

type uploads struct {
	gpu.Engine
	lanes *Lanes
}

// Detect implements gpu.Engine.
func (u uploads) Detect(ctx context.Context, r gpu.Request) (gpu.Response, error) {
	if !u.lanes.busy() {
		return u.Engine.Detect(ctx, r)
	}
	turns, err := u.lanes.gate(ctx)
	if err != nil {
		return gpu.Response{}, err
	}
	var all gpu.Response
	for _, frame := range r.Frames {
		one := r
		one.Frames = [][]byte{frame}
		got, err := u.detect(ctx, turns, one)
		if err != nil {
			return gpu.Response{}, err
		}
		all.Frames, all.Shades, all.Known = append(all.Frames, got.Frames...), append(all.Shades, got.Shades...), got.Known
	}
	return all, nil
}

// detect waits for a turn.
func (u uploads) detect(ctx context.Context, turns *semaphore.Weighted, r gpu.Request) (gpu.Response, error) {
	if err := turns.Acquire(ctx, 1); err != nil {
		return gpu.Response{}, err
	}
	defer turns.Release(1)
	return u.Engine.Detect(ctx, r)
}

// gate returns the turns of uploads: as many as the engine processes frames at once.
func (l *Lanes) gate(ctx context.Context) (*semaphore.Weighted, error) {
	l.mu.Lock()
	known := l.turns
	l.mu.Unlock()
	if known != nil {
		return known, nil
	}
	info, err := l.engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		l.turns = semaphore.NewWeighted(int64(max(info.Concurrency, 1)))
	}
	return l.turns, nil
}
