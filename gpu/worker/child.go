package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// stopGrace is how long a child may take to end after SIGTERM. The child gives its own
// requests 5 s.
const stopGrace = 6 * time.Second

// maxLineBytes bounds a line that the child prints.
const maxLineBytes = 16 << 10

// node is a process of Node. It does not run in the worker's folder: the kernel enters a folder without
// regard to the ambient capabilities.
func (w *Worker) node(ctx context.Context, attributes syscall.SysProcAttr, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.opts.NodePath, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "NODE_ENV=production"}
	cmd.SysProcAttr = &attributes
	return cmd
}

// runChild runs one child to its end and publishes it while it serves.
func (w *Worker) runChild(ctx context.Context, attributes syscall.SysProcAttr) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, handle, err := newSocket()
	if err != nil {
		return fmt.Errorf("make the socket of the child: %w", err)
	}
	defer func() { _ = handle.Close() }()
	cmd := w.node(ctx, attributes, filepath.Join(w.opts.Dir, "src", "main.js"), "--threads", strconv.Itoa(w.opts.Threads))
	cmd.ExtraFiles = []*os.File{listener} // its descriptor 3
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	// The pipe is kept open and never written to. Its end tells the child that this process
	// has ended.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the child: %w", err)
	}
	defer func() { _ = stdin.Close() }()
	announced := make(chan announcement, 1)
	stdout := &lines{take: func(line []byte) { announce(line, announced) }}
	stderr := &lines{take: func(line []byte) { w.opts.Log.Warn("inference worker", slog.String("said", string(line))) }}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Start()
	_ = listener.Close() // with the only copy in the child, its end refuses connections
	if err != nil {
		return fmt.Errorf("start the child: %w", err)
	}
	lowerPriority(cmd.Process.Pid)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case a := <-announced:
			w.publish(cmd.Process, handle, false)
			w.opts.Log.Info("inference worker is serving", "pid", cmd.Process.Pid, "threads", a.Threads)
			w.listen(ctx, cmd.Process)
		case <-time.After(startTimeout):
			_ = cmd.Process.Kill()
		case <-ctx.Done():
		}
	})
	err = cmd.Wait()
	cancel()
	watch.Wait()
	w.publish(nil, nil, false)
	if err == nil {
		err = errors.New("the child exited with status 0")
	}
	return err
}

// lowerPriority raises the nice value of the child. A failure changes nothing for callers.
func lowerPriority(pid int) {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err == nil {
		// The system call returns 20 - nice.
		_ = syscall.Setpriority(syscall.PRIO_PGRP, pid, 20-raw+niceness)
	}
}

// listen checks until ctx ends whether the child is alive, and kills a hung one. Without heartbeats, a
// hung child would not be noticed while it has no requests.
//
// Processor time tells a hung child from one that other programs starve. A child that waits for
// something that never comes uses none, so there is a limit by the clock, too.
func (w *Worker) listen(ctx context.Context, child *os.Process) {
	tick := time.NewTicker(w.opts.Heartbeat)
	defer tick.Stop()
	threads := time.Duration(w.opts.Threads)
	alive := processorTime(child.Pid)
	for missed := 0; missed < patience*missedHeartbeats; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, w.opts.Heartbeat)
		err := w.client.Ready(limited)
		cancel()
		used := processorTime(child.Pid)
		if missed++; err == nil {
			missed, alive = 0, used
		}
		if used-alive >= missedHeartbeats*w.opts.Heartbeat*threads || used-w.oldest(used) >= w.opts.Timeout*threads {
			break
		}
	}
	w.hung(child)
}

// ask notes a request to the child that serves, nil without one. The returned function notes its end.
func (w *Worker) ask() (child *os.Process, answered func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var used time.Duration
	if w.child != nil {
		used = processorTime(w.child.Pid)
	}
	w.asked[&used] = struct{}{}
	return w.child, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.asked, &used)
	}
}

// oldest returns the processor time of the child at the start of its oldest request, or used without one.
func (w *Worker) oldest(used time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for asked := range w.asked {
		used = min(used, *asked)
	}
	return used
}

// processorTime returns the processor time of all threads of a process, in steps of 10 ms. It is 0 for a
// process that has ended.
func processorTime(pid int) (used time.Duration) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The third and the later fields follow after the name in brackets.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, field := range fields[11:13] { // of user and system
		ticks, _ := strconv.Atoi(string(field))
		used += time.Duration(ticks) * 10 * time.Millisecond
	}
	return used
}

// announcement is the line with which a child reports that it serves.
type announcement struct {
	Threads int `json:"threads"`
}

func announce(line []byte, announced chan<- announcement) {
	var a announcement
	if json.Unmarshal(line, &a) != nil || a.Threads < 1 {
		return
	}
	select {
	case announced <- a:
	default: // announced before
	}
}

// lines passes on the lines written to it, in bounded memory: the rest of a line after
// maxLineBytes is dropped.
type lines struct {
	take    func(line []byte)
	pending []byte
}

var _ io.Writer = (*lines)(nil)

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n, line, _ := bufio.ScanLines(rest, false)
		if n == 0 {
			l.keep(rest)
			break
		}
		l.keep(line)
		l.take(l.pending)
		l.pending, rest = l.pending[:0], rest[n:]
	}
	return len(p), nil
}

func (l *lines) keep(part []byte) {
	l.pending = append(l.pending, part[:min(len(part), maxLineBytes-len(l.pending))]...)
}
