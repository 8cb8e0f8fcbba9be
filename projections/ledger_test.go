package projections_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExpiredHolds has holds of one account that expire at different times.
func TestExpiredHolds(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), clock()
	w := newWorldAt(t, func() time.Time { return now })
	c, other := w.caller(ctx, t, 100), w.caller(ctx, t, 100)
	videoID := w.readyVideo(ctx, t, c)
	started := now
	var sources []string
	for range 2 {
		source, err := w.ask(ctx, c, videoID, "Is there a dog?")
		require.NoError(t, err)
		sources = append(sources, source)
		now = now.Add(time.Hour)
	}
	_, err := w.ask(ctx, other, w.readyVideo(ctx, t, other), "Is there a dog?")
	require.NoError(t, err)
	expired := func(at time.Duration) []string {
		t.Helper()
		holds, err := w.ledger.ExpiredHolds(ctx, started.Add(at))
		require.NoError(t, err)
		var found []string
		for _, h := range holds {
			require.Equal(t, c.AccountID, h.AccountID)
			require.EqualValues(t, 8, h.Seconds)
			found = append(found, h.SourceID)
		}
		return found
	}
	require.Empty(t, expired(24*time.Hour-time.Microsecond))
	require.Equal(t, sources[:1], expired(24*time.Hour))
	require.ElementsMatch(t, sources, expired(25*time.Hour))
	now = started.Add(24 * time.Hour)
	require.NoError(t, w.ExpireHold(ctx, c.AccountID, sources[0]))
	require.Empty(t, expired(24*time.Hour), "the expired hold has ended")
}
