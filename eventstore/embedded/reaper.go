package embedded

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// reapAfter is how often the reaper looks for users: long enough to outlast the
// pause between two test packages, short enough to leave nothing behind.
const reapAfter = 10 * time.Second

// reaperScript is a shell script and not Go because it must outlive the test
// binary that started it, and must run where no program of ours is installed.
//
//go:embed reaper.sh
var reaperScript string

func (c cluster) ephemeral() bool {
	_, err := os.Stat(filepath.Join(c.dir, markEphemeral))
	return err == nil
}

// startReaper starts the process that ends an ephemeral server some seconds
// after its last user. Only one reaper lives per folder: another one exits when
// it finds the first at work.
func (c cluster) startReaper(idle time.Duration) error {
	if _, err := exec.LookPath("flock"); err != nil {
		return fmt.Errorf("an ephemeral server needs the program flock (Debian: apt-get install util-linux): %w", err)
	}
	if !c.ephemeral() {
		return errors.New("the cluster is not marked as ephemeral")
	}
	// Not tied to a context: it has to outlive this process.
	cmd := exec.Command("/bin/sh", "-c", reaperScript, "reaper", c.home, c.dir, strconv.FormatFloat(idle.Seconds(), 'f', -1, 64)) //nolint:noctx // see above
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C in the terminal is not for it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the reaper: %w", err)
	}
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("let go of the reaper: %w", err)
	}
	return nil
}
