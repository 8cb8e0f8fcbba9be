package faultbuild

import (
	"encoding/binary"
	"os"
	"time"
)

// variable names the page of a process.
const variable = "FAULT_PAGE"

// Places in the page. The copies of the standard library read the same places.
const (
	pageBytes = 4096
	clockAt   = 0 // int64 in the order of the machine: seconds that the clock is ahead
	diskAt    = 8 // a byte: 1 while the disk is full
)

// Page switches the faults of the processes that were started with its Env.
type Page struct{ file *os.File }

// NewPage creates a page without faults at path.
func NewPage(path string) (Page, error) {
	file, err := os.Create(path)
	if err != nil {
		return Page{}, err
	}
	return Page{file}, file.Truncate(pageBytes)
}

// Env returns the variable NAME=value for the processes.
func (p Page) Env() string { return variable + "=" + p.file.Name() }

// MoveClock sets the clocks of the processes ahead of the machine's, in whole seconds. A negative
// offset sets them back.
func (p Page) MoveClock(ahead time.Duration) error {
	seconds := int64(ahead / time.Second)
	_, err := p.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(seconds)), clockAt) //nolint:gosec // two's complement is meant
	return err
}

// FillDisk decides whether the processes can write to files.
func (p Page) FillDisk(full bool) error {
	state := []byte{0}
	if full {
		state[0] = 1
	}
	_, err := p.file.WriteAt(state, diskAt)
	return err
}

// Close closes the page. The processes keep its last state.
func (p Page) Close() error { return p.file.Close() }
