package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/gpu"
	"vqa/handlers/jobs"
)

// hung is an engine whose health check never returns.
type hung struct {
	gpu.Engine
	asked atomic.Int32
}

func (h *hung) Ready(ctx context.Context) error {
	h.asked.Add(1)
	<-ctx.Done()
	return errors.New("no answer")
}

// TestCallersShareOneCheck: with an engine that hangs, no caller waits for the checks of
// earlier callers.
func TestCallersShareOneCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := &hung{}
		c := &jobs.Capacity{Engine: engine, Now: time.Now}
		started := time.Now()
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if err := c.InferenceReady(t.Context()); !fault.Has(err, fault.InferenceUnavailable) {
					t.Errorf("%v", err)
				}
			})
		}
		callers.Wait()
		require.EqualValues(t, 1, engine.asked.Load())
		require.Equal(t, 2*time.Second, time.Since(started))
	})
}

// full is an engine without room.
type full struct{ gpu.Engine }

func (full) Ready(context.Context) error { return &gpu.UnavailableError{Err: gpu.ErrSaturated} }

func TestABusyEngineIsAvailable(t *testing.T) {
	t.Parallel()
	c := &jobs.Capacity{Engine: full{}, Now: time.Now}
	err := c.InferenceReady(t.Context())
	require.Equal(t, fault.CapacityExhausted, fault.Of(err).Code)
	require.Positive(t, fault.Of(err).RetryAfterS)
}
