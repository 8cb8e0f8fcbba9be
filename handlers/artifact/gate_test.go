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

// gate is one whose analyses are drawn until the test says otherwise.
func gate(drawing func(analysisID string) (bool, error)) (g *Gate, wake chan struct{}) {
	wake = make(chan struct{}, 1)
	return &Gate{
		Drawing: func(_ context.Context, analysisID string) (bool, error) { return drawing(analysisID) },
		Wake:    func() (<-chan struct{}, func()) { return wake, func() {} },
	}, wake
}

const waitedFor = "artifacts/video_1/an_1.2.mp4"

func TestGateOpensWhenDrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := 2
		g, wake := gate(func(analysisID string) (bool, error) {
			require.Equal(t, "an_1", analysisID)
			left--
			return left > 0, nil
		})
		wake <- struct{}{}
		began := time.Now()
		require.NoError(t, g.Wait(t.Context(), waitedFor))
		require.Zero(t, left)
		require.Less(t, time.Since(began), lookEvery, "the signal was not waited for")
	})
}

func TestGateWithoutASignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		g, _ := gate(func(string) (bool, error) { return time.Since(began) < 10*time.Second, nil })
		require.NoError(t, g.Wait(t.Context(), waitedFor))
		require.Less(t, time.Since(began), 11*time.Second)
	})
}

func TestGateSendsAway(t *testing.T) {
	t.Parallel()
	forever := func(string) (bool, error) { return true, nil }
	synctest.Test(t, func(t *testing.T) {
		g, _ := gate(forever)
		began := time.Now()
		err := g.Wait(t.Context(), waitedFor)
		require.True(t, fault.Has(err, fault.CapacityExhausted), "%v", err)
		require.Positive(t, fault.Of(err).RetryAfterS)
		require.Equal(t, PatienceS*time.Second, time.Since(began))
	})
	synctest.Test(t, func(t *testing.T) {
		g, _ := gate(forever)
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, MaxWaiting)
		for range MaxWaiting {
			go func() { ended <- g.Wait(ctx, waitedFor) }()
		}
		synctest.Wait()
		require.True(t, fault.Has(g.Wait(t.Context(), waitedFor), fault.CapacityExhausted), "one too many")
		leave()
		for range MaxWaiting {
			require.ErrorIs(t, <-ended, context.Canceled)
		}
		g.Drawing = func(context.Context, string) (bool, error) { return false, nil }
		require.NoError(t, g.Wait(t.Context(), waitedFor), "there is room again")
	})
}

func TestGateThatCannotLook(t *testing.T) {
	t.Parallel()
	g, _ := gate(func(string) (bool, error) { return false, errors.New("no database") })
	require.ErrorContains(t, g.Wait(t.Context(), waitedFor), "no database")
}
