package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/queue"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	s := queue.Sessions{
		Slots:   2,
		Running: []time.Duration{10 * time.Second, 50 * time.Second},
		Ended:   []time.Duration{time.Hour, 30 * time.Second, 40 * time.Second},
	}
	for position, want := range map[int]int{
		1: 0,  // the second stream has lasted longer than the median of 40 s
		2: 30, // the first one ends
		3: 40, // the one at position 1 ends
		4: 70,
	} {
		require.Equal(t, want, *s.In(position), "position %d", position)
	}
	s.Running = s.Running[:1]
	require.Equal(t, 0, *s.In(1), "a slot is free")
	s.Running = []time.Duration{0, 1500 * time.Millisecond}
	require.Equal(t, 39, *s.In(1), "rounded up")
	require.Nil(t, queue.Sessions{Slots: 2}.In(1), "no stream has ended yet")
	require.Nil(t, queue.Sessions{Ended: s.Ended}.In(1), "no node is known")
}
