package scratch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/scratch"
)

// servant is set in the environment of a test binary that runs as a node.
const servant = "VQA_TEST_SCRATCH_SERVANT"

// node starts a process that makes a folder with a file in it, and returns both. The process
// runs until it is killed.
func node(t *testing.T, tmp string) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^TestSweepRemovesFoldersOfEndedProcesses$")
	cmd.Env = []string{servant + "=1", "TMPDIR=" + tmp}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	var path string
	_, err = fmt.Fscanf(out, "folder %s\n", &path)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(path, "clip.mp4"))
	return cmd, path
}

func TestSweepRemovesFoldersOfEndedProcesses(t *testing.T) {
	if os.Getenv(servant) != "" {
		f, err := scratch.New()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(f.Path, "clip.mp4"), []byte("half"), 0o600))
		fmt.Println("folder", f.Path)
		select {}
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	killed, left := node(t, tmp)
	_, alive := node(t, tmp)
	own, err := scratch.New()
	require.NoError(t, err)
	elsewhere := t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(tmp, "vqa-scratch-link")))
	require.NoError(t, os.Mkdir(filepath.Join(tmp, "vqa-other"), 0o700))

	require.NoError(t, killed.Process.Kill()) // SIGKILL
	require.Error(t, killed.Wait())
	require.DirExists(t, left)
	removed, err := scratch.Sweep()
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.NoDirExists(t, left)
	require.DirExists(t, alive, "the process of this folder lives")
	require.DirExists(t, own.Path)
	require.DirExists(t, elsewhere, "a link is not followed")
	require.DirExists(t, filepath.Join(tmp, "vqa-other"))
	require.NoError(t, own.Remove())
	require.NoDirExists(t, own.Path)
}

// TestSweepRemovesOldUnlockedFolders: a process that ended inside New left such a folder.
func TestSweepRemovesOldUnlockedFolders(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old, young := filepath.Join(tmp, "vqa-new-scratch-OLD"), filepath.Join(tmp, "vqa-new-scratch-YOUNG")
	for _, path := range []string{old, young} {
		require.NoError(t, os.Mkdir(path, 0o700))
	}
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(old, long, long))
	removed, err := scratch.Sweep()
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.NoDirExists(t, old)
	require.DirExists(t, young, "New may be about to lock it")
}

// TestSweepsAndNewFolders: Sweep never removes a folder that New has returned, and constant
// sweeping never makes New fail.
func TestSweepsAndNewFolders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	done := make(chan struct{})
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_, _ = scratch.Sweep() // a folder may vanish meanwhile
			}
		}
	})
	for range 200 {
		f, err := scratch.New()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o600))
		require.NoError(t, f.Remove())
	}
	close(done)
	sweeping.Wait()
}
