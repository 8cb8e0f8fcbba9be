package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFindsWhatSetupFetched puts the program into the layout of a clone and starts it in another
// folder. The downloaded ffmpeg takes precedence over the machine's, and VQA_FFMPEG over both.
func TestFindsWhatSetupFetched(t *testing.T) {
	t.Parallel()
	program, err := binary()
	require.NoError(t, err)
	machines, err := exec.LookPath("ffmpeg")
	require.NoError(t, err)
	clone := t.TempDir()
	fetched, old := filepath.Join(clone, ".cache", "tools", "bin", "ffmpeg"), filepath.Join(clone, "old")
	for _, dir := range []string{filepath.Dir(fetched), filepath.Join(clone, "bin"), filepath.Join(clone, "elsewhere")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.Symlink(machines, fetched))
	require.NoError(t, os.WriteFile(old, []byte("#!/bin/sh\necho 'ffmpeg version 4.1.3-static Copyright'\n"), 0o755))
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	program = filepath.Join(clone, "bin", "vqa")
	require.NoError(t, os.WriteFile(program, text, 0o755))

	// Without a worker, the checks after the one of ffmpeg end at once.
	examine := func(setting ...string) (verdict, detail, fix string) {
		cmd := exec.CommandContext(t.Context(), program, "doctor", "--media", "--json")
		cmd.Dir = filepath.Join(clone, "elsewhere")
		cmd.Env = append(os.Environ(), append(setting, "VQA_WORKER_DIR="+t.TempDir())...)
		out, _ := cmd.Output() // exit status 1: there is no worker
		var report struct {
			Checks []struct{ Name, Verdict, Detail, Fix string }
		}
		require.NoError(t, json.Unmarshal(out, &report), "%s", out)
		require.Equal(t, "ffmpeg", report.Checks[0].Name)
		return report.Checks[0].Verdict, report.Checks[0].Detail, report.Checks[0].Fix
	}

	verdict, detail, _ := examine()
	require.Equal(t, "ok", verdict, detail)
	require.Contains(t, detail, "at "+fetched)

	verdict, detail, _ = examine("VQA_FFMPEG=" + machines)
	require.Equal(t, "ok", verdict, detail)
	require.Contains(t, detail, "at "+machines)

	verdict, detail, fix := examine("VQA_FFMPEG=" + old)
	require.Equal(t, "broken", verdict, "only the program of VQA_FFMPEG is used")
	require.Contains(t, detail, "VQA_FFMPEG: ffmpeg: "+old+" is release 4.1.3-static, which is too old: 5.1 or newer is needed")
	require.Contains(t, fix, "make setup")

	require.NoError(t, os.Remove(fetched))
	require.NoError(t, os.Symlink(old, fetched))
	verdict, detail, _ = examine()
	require.Equal(t, "ok", verdict, detail)
	require.Contains(t, detail, "at "+machines, "an unusable program is skipped")
}
