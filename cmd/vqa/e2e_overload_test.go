package main_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePriorityOfTheWorker compares the inference worker with the service that started it. A high nice
// value would let every other program of the machine go first.
func TestThePriorityOfTheWorker(t *testing.T) {
	t.Parallel()
	s := ownService(t, embeddedWorker)
	service := s.cmd.Process.Pid
	require.Equal(t, niceOf(t, service)+2, niceOf(t, workerOf(t, service)))
}

// niceOf returns the nice value of a process.
func niceOf(t *testing.T, pid int) int {
	t.Helper()
	nice, err := strconv.Atoi(statOf(t, pid)[16])
	require.NoError(t, err)
	return nice
}
