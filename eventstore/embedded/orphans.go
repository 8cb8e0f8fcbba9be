package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// orphanGrace is how long a process of a dead server may take to end by itself, and then once more
	// to end after SIGQUIT. An idle process ends within milliseconds.
	orphanGrace = 3 * time.Second
	orphanPoll  = 20 * time.Millisecond
	// orphanTitle begins the command line of each process of a server except the postmaster.
	orphanTitle = "postgres: "
)

// endOrphans ends the processes that outlived their postmaster. Postgres refuses to start while one of
// them uses the shared memory of the dead server, for example in a long query. Their transactions are
// lost in any case: the recovery at the next start rolls them back. The caller holds the start lock and
// has checked that no postmaster runs.
func (c cluster) endOrphans(ctx context.Context) error {
	for _, signal := range []syscall.Signal{0, syscall.SIGQUIT, syscall.SIGKILL} {
		pids := c.orphans()
		if len(pids) == 0 {
			return nil
		}
		if signal != 0 {
			for _, pid := range pids {
				_ = syscall.Kill(pid, signal) // it may have ended meanwhile
			}
		}
		if err := c.awaitOrphans(ctx); err != nil {
			return err
		}
	}
	if len(c.orphans()) > 0 {
		return errors.New("processes of the previous server do not end, even after SIGKILL: their disk may hang")
	}
	return nil
}

// awaitOrphans returns when there are no orphans, or after orphanGrace.
func (c cluster) awaitOrphans(ctx context.Context) error {
	deadline := time.Now().Add(orphanGrace)
	for len(c.orphans()) > 0 && time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(orphanPoll):
		}
	}
	return nil
}

// orphans lists the processes of a server on the data folder whose postmaster is gone. Postgres sets
// their working folder to the data folder.
func (c cluster) orphans() []int {
	folders, _ := filepath.Glob("/proc/[0-9]*") // fails only on a malformed pattern
	var pids []int
	for _, folder := range folders {
		if !c.servedBy(folder) {
			continue
		}
		title, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || !strings.HasPrefix(string(title), orphanTitle) {
			continue
		}
		if parent := parentOf(folder); parent == "" || c.servedBy(parent) {
			continue // it has ended, or its postmaster lives
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// servedBy reports whether a process, a folder in /proc, works in the data folder. It is false when the
// process has ended or belongs to another user.
func (c cluster) servedBy(process string) bool {
	cwd, err := os.Readlink(filepath.Join(process, "cwd"))
	return err == nil && same(cwd, c.data())
}

// parentOf returns the folder in /proc of the parent of a process, or "" when the process has ended.
func parentOf(process string) string {
	text, err := os.ReadFile(filepath.Join(process, "status"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if pid, ok := strings.CutPrefix(line, "PPid:"); ok {
			return filepath.Join("/proc", strings.TrimSpace(pid))
		}
	}
	return ""
}
