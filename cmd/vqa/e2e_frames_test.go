package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNotReadyWithoutFrames gives the service an ffmpeg that can do everything except extract frames,
// like a build from npm, and then a complete one.
func TestNotReadyWithoutFrames(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("ffmpeg")
	require.NoError(t, err)
	dir, err := os.MkdirTemp(workshop, "ffmpeg-") //nolint:usetesting // other users must be able to enter the folder
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	lacking := filepath.Join(dir, "ffmpeg")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *metadata=mode=print*) echo \"Option 'direct' not found\" >&2; exit 8 ;; esac\nexec %s \"$@\"\n", real)
	require.NoError(t, os.WriteFile(lacking, []byte(script), 0o755))

	s, err := newService("PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"))
	require.NoError(t, err)
	require.NoError(t, s.launch())
	t.Cleanup(func() { require.NoError(t, s.terminate(), "%s", s.said) })
	health := &apiClient{service: s}
	var got answer
	require.True(t, pollEvery(100*time.Millisecond, startTimeout, func() bool {
		got, err = health.try(t, http.MethodGet, "/readyz", nil)
		return err == nil && got.text("error.details.checks.inference") == "ok"
	}), "%s\n%s", got.raw, s.said)
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, "failed", got.text("error.details.checks.frames"), "%s", got.raw)
	require.Equal(t, "inference_unavailable", got.code())
	require.True(t, pollEvery(100*time.Millisecond, startTimeout, func() bool { // the check itself may still run
		return strings.Contains(s.said.String(), "frames cannot be extracted")
	}), "%s", s.said)

	require.NoError(t, os.Remove(lacking))
	require.NoError(t, os.Symlink(real, lacking))
	require.True(t, pollEvery(100*time.Millisecond, startTimeout, func() bool {
		return health.call(t, http.MethodGet, "/readyz", nil).status == http.StatusOK
	}), "%s", s.said)
}
