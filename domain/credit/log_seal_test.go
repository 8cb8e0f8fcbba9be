package credit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestLogSealsGrow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	var s LogState
	seal := func(log, size int64) error {
		sealed, err := DecideLogSeal(s, SealLog{LogSealed{Log: log, Size: size}}, now)
		if err == nil {
			require.Equal(t, []LogSealed{{Log: log, Size: size, At: now}}, sealed)
			s = EvolveLog(s, sealed[0])
		}
		return err
	}
	require.NoError(t, seal(1, 5))
	require.NoError(t, seal(1, 6))
	require.True(t, fault.Has(seal(1, 6), fault.ResourceConflict))
	require.True(t, fault.Has(seal(1, 5), fault.ResourceConflict))
	require.NoError(t, seal(2, 1), "a restarted log begins small")
	require.True(t, fault.Has(seal(1, 9), fault.ResourceConflict))
}
