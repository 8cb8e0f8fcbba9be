package artifact

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// waiter returns a Waiter that asks the test whether artifacts are pending.
func waiter(drawing func(analysisID string) (bool, error)) (w *Waiter, wake chan struct{}) {
	wake = make(chan struct{}, 1)
	return &Waiter{
		Drawing: func(_ context.Context, analysisID string) (bool, error) { return drawing(analysisID) },
		Wake:    func() (<-chan struct{}, func()) { return wake, func() {} },
	}, wake
}

const waitedFor = "artifacts/video_1/an_1.2.mp4"

func TestWaiterReturnsWhenDrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := 2
		w, wake := waiter(func(analysisID string) (bool, error) {
			require.Equal(t, "an_1", analysisID)
			left--
			return left > 0, nil
		})
		wake <- struct{}{}
		began := time.Now()
		require.NoError(t, w.Wait(t.Context(), waitedFor))
		require.Zero(t, left)
		require.Less(t, time.Since(began), checkEvery, "the signal ends the wait")
	})
}

func TestWaiterWithoutASignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w, _ := waiter(func(string) (bool, error) { return time.Since(began) < 10*time.Second, nil })
		require.NoError(t, w.Wait(t.Context(), waitedFor))
		require.Less(t, time.Since(began), 11*time.Second)
	})
}

func TestWaiterRefuses(t *testing.T) {
	t.Parallel()
	forever := func(string) (bool, error) { return true, nil }
	synctest.Test(t, func(t *testing.T) {
		w, _ := waiter(forever)
		began := time.Now()
		err := w.Wait(t.Context(), waitedFor)
		require.True(t, fault.Has(err, fault.CapacityExhausted), "%v", err)
		require.Positive(t, fault.Of(err).RetryAfterS)
		require.Equal(t, patienceS*time.Second, time.Since(began))
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := waiter(forever)
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, maxWaiting)
		for range maxWaiting {
			go func() { ended <- w.Wait(ctx, waitedFor) }()
		}
		synctest.Wait()
		require.True(t, fault.Has(w.Wait(t.Context(), waitedFor), fault.CapacityExhausted), "one too many")
		leave()
		for range maxWaiting {
			require.ErrorIs(t, <-ended, context.Canceled)
		}
		w.Drawing = func(context.Context, string) (bool, error) { return false, nil }
		require.NoError(t, w.Wait(t.Context(), waitedFor), "the others have left")
	})
}

func TestWaiterReturnsErrors(t *testing.T) {
	t.Parallel()
	w, _ := waiter(func(string) (bool, error) { return false, errors.New("no database") })
	require.ErrorContains(t, w.Wait(t.Context(), waitedFor), "no database")
}
