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

// reapAfter is the interval at which the reaper checks for users. It is longer than the pause between
// two test packages, so that they share a server.
const reapAfter = 10 * time.Second

// reaperScript is a shell script, because it must outlive the test binary that starts it and must run
// without an installed program of this project.
//
//go:embed reaper.sh
var reaperScript string

func (c cluster) ephemeral() bool {
	_, err := os.Stat(filepath.Join(c.dir, markEphemeral))
	return err == nil
}

// startReaper starts the process that stops an ephemeral server after its last user has ended. There is
// one reaper for each folder. A second one exits.
func (c cluster) startReaper(idle time.Duration) error {
	if _, err := exec.LookPath("flock"); err != nil {
		return fmt.Errorf("an ephemeral server needs the program flock (Debian: apt-get install util-linux): %w", err)
	}
	if !c.ephemeral() {
		return errors.New("the cluster is not marked as ephemeral")
	}
	// It has no context, because it must outlive this process.
	cmd := exec.Command("/bin/sh", "-c", reaperScript, "reaper", c.home, c.dir, strconv.FormatFloat(idle.Seconds(), 'f', -1, 64)) //nolint:noctx // see above
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C in the terminal must not end it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the reaper: %w", err)
	}
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("release the reaper process: %w", err)
	}
	return nil
}
