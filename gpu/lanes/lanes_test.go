package lanes_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/gpu"
	"vqa/gpu/lanes"
)

// queue is an engine with two threads that takes the frames in the order in which they came.
type queue struct {
	threads chan struct{}

	mu       sync.Mutex
	requests []int // the frames of each
	fails    error
}

func newQueue() *queue { return &queue{threads: make(chan struct{}, 2)} }

// frameTime is the time for one frame in one thread.
const frameTime = 200 * time.Millisecond

// Detect implements gpu.Engine.
func (q *queue) Detect(_ context.Context, r gpu.Request) (gpu.Response, error) {
	q.mu.Lock()
	q.requests = append(q.requests, len(r.Frames))
	fails := q.fails
	q.mu.Unlock()
	if fails != nil {
		return gpu.Response{}, fails
	}
	out := gpu.Response{Known: make([]bool, len(r.Terms))}
	var all sync.WaitGroup
	for _, f := range r.Frames {
		out.Frames = append(out.Frames, []evidence.Detection{{Score: float64(f[0])}})
		if r.WantShades {
			out.Shades = append(out.Shades, f)
		}
		all.Go(func() {
			q.threads <- struct{}{}
			time.Sleep(frameTime)
			<-q.threads
		})
	}
	all.Wait()
	return out, nil
}

// Ready implements gpu.Engine.
func (q *queue) Ready(context.Context) error { return nil }

// Info implements gpu.Engine.
func (q *queue) Info(context.Context) (gpu.Info, error) { return gpu.Info{Concurrency: 2}, nil }

// TestAStreamBesideAnAnalysis: an analysis keeps three requests of four frames in flight, as package jobs.
func TestAStreamBesideAnAnalysis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lanes.New(newQueue(), time.Now)
		ctx, stop := context.WithCancel(t.Context())
		examined := 0
		var mu sync.Mutex
		var analysis sync.WaitGroup
		for range 3 {
			analysis.Go(func() {
				for ctx.Err() == nil {
					_, err := l.Uploads().Detect(t.Context(), gpu.Request{Frames: [][]byte{{1}, {2}, {3}, {4}}})
					require.NoError(t, err)
					mu.Lock()
					examined += 4
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Second)
		var waits []time.Duration
		for range 20 {
			began := time.Now()
			_, err := l.Streams().Detect(t.Context(), gpu.Request{Frames: [][]byte{{9}}})
			require.NoError(t, err)
			waits = append(waits, time.Since(began))
		}
		for _, w := range waits[5:] { // the first ones wait for requests from before
			require.LessOrEqual(t, w, 2*frameTime)
		}
		stop()
		analysis.Wait()
		require.Greater(t, examined, 25, "the analysis goes on")
	})
}

func TestUploadsAlonePassUnchanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		l := lanes.New(q, time.Now)
		r := gpu.Request{Frames: [][]byte{{1}, {2}, {3}}, Terms: []string{"dog"}, WantShades: true}
		whole, err := l.Uploads().Detect(t.Context(), r)
		require.NoError(t, err)
		_, err = l.Streams().Detect(t.Context(), gpu.Request{Frames: [][]byte{{9}}})
		require.NoError(t, err)
		split, err := l.Uploads().Detect(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, whole, split)
		time.Sleep(2 * time.Second)
		_, err = l.Uploads().Detect(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, []int{3, 1, 1, 1, 1, 3}, q.requests)

		_, err = l.Streams().Detect(t.Context(), gpu.Request{Frames: [][]byte{{9}}})
		require.NoError(t, err)
		q.fails = errors.New("away")
		_, err = l.Uploads().Detect(t.Context(), r)
		require.ErrorIs(t, err, q.fails)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = l.Uploads().Detect(canceled, r)
		require.Error(t, err)
	})
}
