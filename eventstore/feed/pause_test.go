package feed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPausesDouble(t *testing.T) {
	t.Parallel()
	s := source{firstPause: 100 * time.Millisecond}
	var pauses []time.Duration
	for attempts := 1; attempts <= 8; attempts++ {
		pauses = append(pauses, s.pauseAfter(attempts)/time.Millisecond)
	}
	require.Equal(t, []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000}, pauses)
}
