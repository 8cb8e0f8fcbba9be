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

// runningFile contains the address of the server that uses a data folder.
const runningFile = "server.json"

// running is the content of runningFile.
type running struct {
	// URL is the base URL of the server's listener, for programs on this machine.
	URL string `json:"url"`
	PID int    `json:"pid"`
	// Settings are the values of the server by variable. Secrets are masked.
	Settings map[string]string `json:"settings"`
	// dataDir is the folder of the file.
	dataDir string
}

// maxRunningBytes bounds the file.
const maxRunningBytes = 64 << 10

// announce writes the address of this server to its data folder, until end is called or the process
// ends. The server holds a lock on the file while it runs, so the file of a killed server is ignored.
// When several servers use one folder, the first one announces itself.
func announce(c config, url string) (end func() error, err error) {
	path := filepath.Join(c.DataDir, runningFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("announcing the server: %w", err)
	}
	// The lock belongs to the open file description, so it also works within one process.
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		return f.Close, nil
	case err != nil:
		return nil, errors.Join(fmt.Errorf("announcing the server: %w", err), f.Close())
	}
	values := map[string]string{}
	for _, s := range settings(c, os.LookupEnv) {
		values[s.Env] = s.Value
	}
	raw, err := json.Marshal(running{URL: url, PID: os.Getpid(), Settings: values})
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

// serverOf returns the server that uses a data folder. ok is false when none runs. It tests the lock
// without taking it.
func serverOf(dataDir string) (r running, ok bool) {
	f, err := os.Open(filepath.Join(dataDir, runningFile))
	if err != nil {
		return r, false
	}
	defer func() { _ = f.Close() }() // read only
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return r, false
	}
	err = json.NewDecoder(io.LimitReader(f, maxRunningBytes)).Decode(&r)
	r.dataDir = dataDir
	return r, err == nil && r.URL != ""
}
