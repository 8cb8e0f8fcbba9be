package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// runningFile is where the server of a data folder says at which address it answers.
const runningFile = "server.json"

// running is what it says.
type running struct {
	// URL is the base URL of its listener, for programs of this machine.
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// maxRunningBytes bounds the file.
const maxRunningBytes = 4 << 10

// announce says in the data folder where this server answers, until the function that it
// returns is called or the process ends. A lock on the file shows that its server lives, so
// what a killed one left says nothing. Of several servers on one folder the first says it.
func announce(dir, url string) (end func() error, err error) {
	path := filepath.Join(dir, runningFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("announcing the server: %w", err)
	}
	// An open file description holds the lock: another one of this process tests it too.
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		return f.Close, nil
	case err != nil:
		return nil, errors.Join(fmt.Errorf("announcing the server: %w", err), f.Close())
	}
	raw, err := json.Marshal(running{URL: url, PID: os.Getpid()})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(raw, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("announcing the server: %w", err), f.Close())
	}
	return func() error { return errors.Join(os.Remove(path), f.Close()) }, nil
}

// announced is the base URL of the server that runs on a data folder, or "". It changes
// nothing: testing the lock does not take it.
func announced(dir string) string {
	f, err := os.Open(filepath.Join(dir, runningFile))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return ""
	}
	var r running
	if json.NewDecoder(io.LimitReader(f, maxRunningBytes)).Decode(&r) != nil {
		return ""
	}
	return r.URL
}
