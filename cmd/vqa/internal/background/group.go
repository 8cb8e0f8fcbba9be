package background

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	// weight and shares are a tenth of the default, in cgroup v2 and in v1.
	weight, shares = "10", "102"
	// prefix starts the name of a cgroup. The id of the process that made it follows.
	prefix = "vqa-background-"
	// niceness is added to the nice value of this process. Each step is a factor of about 1.25.
	niceness = 10
	// leastFavored is the highest nice value.
	leastFavored = 19
)

// Group takes processes into the background. A nil group does nothing.
type Group struct {
	log *slog.Logger
	// folder is the cgroup of the background processes, or "".
	folder string
	nice   int
	// failed is done once: the first error is logged.
	failed sync.Once
}

// Open makes the cgroup if this process may. Otherwise the group changes priorities.
func Open(log *slog.Logger) *Group {
	g := &Group{log: log, nice: niceness}
	if raised, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
		g.nice = min(20-raised+niceness, leastFavored) // the system call returns 20 - nice
	}
	var err error
	if g.folder, err = makeCgroup(prefix + strconv.Itoa(os.Getpid())); err == nil {
		log.Info("the worker and ffmpeg have a lower processor weight", "by", "cgroup", "cgroup", g.folder)
	} else {
		log.Info("the worker and ffmpeg have a lower processor weight", "by", "priority", "nice", g.nice, "cgroup", err.Error())
	}
	return g
}

// Add takes a process into the background, with the threads and processes that it will start. The
// process must lead a session of its own. A failure is logged once, because the process works
// without.
func (g *Group) Add(pid int) {
	if g == nil {
		return
	}
	err := g.add(pid)
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // the process has ended
		return
	}
	g.failed.Do(func() {
		g.log.Warn("cannot lower the processor weight of a process: the worker and ffmpeg may slow down the API", "error", err)
	})
}

func (g *Group) add(pid int) error {
	if g.folder != "" && os.WriteFile(filepath.Join(g.folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0) == nil {
		return nil
	}
	// The call covers all threads. Without autogroups the file is missing, and the kernel may
	// refuse a write that comes soon after another.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(g.nice)), 0)
	return syscall.Setpriority(syscall.PRIO_PGRP, pid, g.nice)
}

// Close removes the cgroup. Its processes must have ended. A cgroup that is still in use stays, and
// the next start removes it.
func (g *Group) Close() error {
	if g.folder != "" {
		_ = os.Remove(g.folder)
	}
	return nil
}

// makeCgroup makes a child of the cgroup of this process with a low weight.
func makeCgroup(name string) (string, error) {
	memberships, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	var all []error
	for _, c := range controlled(string(memberships), string(mounts)) {
		err := c.make(name)
		if err == nil {
			return filepath.Join(c.folder, name), nil
		}
		all = append(all, err)
	}
	if len(all) == 0 {
		return "", errors.New("no cgroup with the cpu controller")
	}
	return "", errors.Join(all...)
}

// cgroup is a cgroup that contains this process, with the file for the weight of a child.
type cgroup struct{ folder, file, weight string }

// make makes a child. Without the file for the weight, the child would change nothing.
func (c cgroup) make(name string) error {
	c.removeStale()
	child := filepath.Join(c.folder, name)
	if err := os.Mkdir(child, 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(child, c.file), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(c.weight)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return errors.Join(err, os.Remove(child))
	}
	return nil
}

// removeStale removes the cgroups of processes that were killed. The cgroup of a running process stays,
// also while it is empty.
func (c cgroup) removeStale() {
	all, _ := filepath.Glob(filepath.Join(c.folder, prefix+"*"))
	for _, folder := range all {
		owner := strings.TrimPrefix(filepath.Base(folder), prefix)
		if _, err := os.Stat(filepath.Join("/proc", owner)); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(folder) // fails while it has processes
		}
	}
}

// controlled returns the cgroups of this process that may have the cpu controller, from the texts of
// /proc/self/cgroup and /proc/self/mountinfo.
func controlled(memberships, mounts string) (all []cgroup) {
	for line := range strings.Lines(memberships) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		c := cgroup{file: "cpu.weight", weight: weight}
		kind := "cgroup2"
		if fields[1] != "" {
			if !slices.Contains(strings.Split(fields[1], ","), "cpu") {
				continue
			}
			c, kind = cgroup{file: "cpu.shares", weight: shares}, "cgroup"
		}
		if mount, root, ok := mountOf(mounts, kind); ok {
			c.folder = filepath.Join(mount, strings.TrimPrefix(fields[2], root))
			all = append(all, c)
		}
	}
	return all
}

// mountOf returns the mount point of a hierarchy and the cgroup at its root. In version 1 it must have
// the cpu controller.
func mountOf(mounts, kind string) (point, root string, ok bool) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields, system := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(system) < 3 || system[0] != kind {
			continue
		}
		if kind == "cgroup2" || slices.Contains(strings.Split(system[2], ","), "cpu") {
			return fields[4], fields[3], true
		}
	}
	return "", "", false
}
