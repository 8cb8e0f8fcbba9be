package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxOutputBytes  = 1 << 20
	maxErrorBytes   = 4 << 10
	maxAddressSpace = 2 << 30 // bytes; a 4K decoder needs about a fifth
	maxAllocBytes   = "536870912"
	// killDelay is how long the pipes of a killed process are waited for.
	killDelay = time.Second
)

// exitError says that a tool ran and refused its input.
type exitError struct {
	err    error
	stderr string
}

func (e *exitError) Error() string { return e.err.Error() + ": " + e.stderr }
func (e *exitError) Unwrap() error { return e.err }

var errOutputTooLong = errors.New("the output is too long")

// run executes a tool on source under the limits of this package and returns its
// output. A tool that exits with a failure, is stopped by a limit or writes too much
// gives an *exitError; a context that ends gives its error.
func run(ctx context.Context, source string, bin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.WaitDelay = killDelay
	stdout, stderr := &capped{max: maxOutputBytes}, &capped{max: maxErrorBytes, cut: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("probe: start %s: %w", bin, err)
	}
	limitErr := limit(cmd.Process.Pid)
	if limitErr != nil {
		_ = cmd.Process.Kill() // never without limits
	}
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("probe: %s: %w", bin, ctx.Err())
	case limitErr != nil:
		return nil, fmt.Errorf("probe: limit %s: %w", bin, limitErr)
	case stdout.full:
		return nil, &exitError{err: errOutputTooLong}
	case err != nil:
		// ffmpeg repeats its source, which may be a signed URL.
		return nil, &exitError{err: err, stderr: strings.ReplaceAll(stderr.buf.String(), source, "source")}
	}
	return stdout.buf.Bytes(), nil
}

// limit bounds memory and CPU of a process that was just started. ESRCH means that
// it has already ended.
func limit(pid int) error {
	for resource, value := range map[int]uint64{
		unix.RLIMIT_AS:    maxAddressSpace,
		unix.RLIMIT_CPU:   uint64(2 * Timeout / time.Second), // seconds; a stray ends by itself
		unix.RLIMIT_FSIZE: 0,
		unix.RLIMIT_CORE:  0,
	} {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// capped keeps at most max bytes. What goes beyond is dropped when cut, else it is an
// error, which ends the process by its closed pipe.
type capped struct {
	buf bytes.Buffer
	max int
	cut bool
	// full reports that more was written than kept.
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	keep := p[:min(len(p), c.max-c.buf.Len())]
	c.buf.Write(keep)
	c.full = c.full || len(keep) < len(p)
	if c.full && !c.cut {
		return len(keep), errOutputTooLong
	}
	return len(p), nil
}
