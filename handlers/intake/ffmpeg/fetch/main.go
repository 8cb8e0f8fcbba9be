package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// timeout bounds the whole installation over a slow connection.
const timeout = 15 * time.Minute

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fetch FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	err := run(ctx, runtime.GOOS, runtime.GOARCH, os.Args[1])
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, goos, goarch, to string) error {
	w, ok := wheels[goarch]
	if goos != "linux" || !ok {
		return fmt.Errorf("there is no pinned build of ffmpeg for %s/%s", goos, goarch)
	}
	return install(ctx, cmp.Or(os.Getenv("PIP_INDEX_URL"), publicIndex), w, to)
}

// install downloads a wheel, verifies it, and puts its program at to.
func install(ctx context.Context, index string, w wheel, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // programs, not secrets
		return err
	}
	// The folder is beside the target, so that the last step is a rename.
	dir, err := os.MkdirTemp(filepath.Dir(to), "fetch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder that remains does no harm
	file := filepath.Join(dir, w.filename())
	if byPip := pipDownload(ctx, w, dir); byPip != nil {
		if err := indexDownload(ctx, index, w, file); err != nil {
			return errors.Join(byPip, err)
		}
	}
	if err := w.verify(file); err != nil {
		return err
	}
	program := filepath.Join(dir, "ffmpeg")
	if err := unpack(file, program); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the fetched ffmpeg %s does not run on this machine: %w: %s", ffmpegVersion, err, strings.TrimSpace(string(out)))
	}
	return os.Rename(program, to)
}
