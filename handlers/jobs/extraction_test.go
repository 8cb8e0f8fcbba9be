package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/jobs"
)

// TestExtractionIsWatched: readiness follows the last trial, and reading it starts none.
func TestExtractionIsWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken error
		trials := 0
		e := &jobs.Extraction{Log: slog.New(slog.DiscardHandler), Try: func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			trials++
			return broken
		}}
		unready := func(why error) {
			t.Helper()
			err := e.Ready(t.Context())
			require.True(t, fault.Has(err, fault.InferenceUnavailable), "%v", err)
			if why != nil {
				require.ErrorIs(t, err, why)
			}
		}
		unready(nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); e.Run(ctx) }()
		synctest.Wait()
		for range 100 {
			require.NoError(t, e.Ready(t.Context()))
		}
		require.Equal(t, 1, trials)

		broken = errors.New("Option not found")
		time.Sleep(time.Minute)
		synctest.Wait()
		unready(broken)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Equal(t, 5, trials, "a failure is tried again sooner")

		broken = nil
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.NoError(t, e.Ready(t.Context()))
		stop()
		<-ended
	})
}
