package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheWorkerHasLessWeight compares the inference worker with the service that started it.
func TestTheWorkerHasLessWeight(t *testing.T) {
	t.Parallel()
	s := ownService(t, embeddedWorker)
	service := s.cmd.Process.Pid
	worker := workerOf(t, service)
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", worker))
	require.NoError(t, err)
	if name := fmt.Sprintf("/vqa-background-%d\n", service); strings.Contains(string(groups), name) {
		own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", service))
		require.NoError(t, err)
		require.NotContains(t, string(own), name)
		return
	}
	require.Greater(t, niceOf(t, worker), niceOf(t, service))
}

// niceOf returns the nice value of a process.
func niceOf(t *testing.T, pid int) int {
	t.Helper()
	nice, err := strconv.Atoi(statOf(t, pid)[16])
	require.NoError(t, err)
	return nice
}
