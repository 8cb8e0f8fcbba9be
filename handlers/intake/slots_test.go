package intake

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// TestSlotsBoundNodeAndAccount counts the callers with a slot while many want one.
func TestSlotsBoundNodeAndAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(3, 2)
		release := make(chan struct{})
		held := map[string]int{}
		entered := make(chan string, 100)
		for _, account := range []string{"a", "a", "a", "a", "a", "b"} {
			go func() {
				leave, err := s.Enter(t.Context(), account, 0)
				if err != nil {
					t.Error(err)
					return
				}
				entered <- account
				<-release
				leave()
			}()
			synctest.Wait()
		}
		for len(entered) > 0 {
			held[<-entered]++
		}
		require.Equal(t, map[string]int{"a": 2, "b": 1}, held, "the queue of a does not delay b")
		for range 3 {
			release <- struct{}{}
		}
		synctest.Wait()
		require.Len(t, entered, 2, "an account cannot exceed its share")
		close(release)
		synctest.Wait()
		require.Empty(t, s.accounts)
		require.Zero(t, s.waiting)
	})
}

func TestSlotsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 1)
		leave, err := s.Enter(t.Context(), "a", time.Second)
		require.NoError(t, err)

		began := time.Now()
		_, err = s.Enter(t.Context(), "b", 20*time.Second)
		require.Equal(t, fault.CapacityExhausted, fault.Of(err).Code)
		require.Positive(t, fault.Of(err).RetryAfterS)
		require.Equal(t, 20*time.Second, time.Since(began), "the caller waited until its patience was over")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Enter(ctx, "b", time.Minute)
		require.ErrorIs(t, err, context.Canceled, "a caller that left gets the error of its context")

		full, cancel := context.WithCancel(t.Context())
		for range maxWaitingProbes {
			go func() { _, _ = s.Enter(full, "c", 0) }()
		}
		synctest.Wait()
		began = time.Now()
		_, err = s.Enter(t.Context(), "d", time.Hour)
		require.Equal(t, fault.CapacityExhausted, fault.Of(err).Code)
		require.Zero(t, time.Since(began), "the queue is bounded")
		cancel()
		synctest.Wait()

		leave()
		leave, err = s.Enter(t.Context(), "d", time.Second)
		require.NoError(t, err, "a released slot is free for others")
		leave()
		require.Empty(t, s.accounts)
	})
}
