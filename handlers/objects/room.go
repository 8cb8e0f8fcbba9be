package objects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"vqa/domain/fault"
)

// A Writer checks the free space and its upload again after checkEveryBytes written bytes, or
// after checkEvery.
const (
	checkEveryBytes = 16 << 20
	checkEvery      = 10 * time.Second
)

// roomRetryAfterS tells a refused caller when to try again, in seconds. Room appears only when
// videos are deleted.
const roomRetryAfterS = 60

// Free returns the free bytes on the disk of a folder. known is false for any other bucket.
func (s *Store) Free() (bytes int64, known bool, err error) {
	if s.opt.Free == nil {
		return 0, false, nil
	}
	bytes, err = s.opt.Free()
	if err != nil {
		return 0, true, fmt.Errorf("objects: free space: %w", err)
	}
	return bytes, true, nil
}

// Room returns capacity_exhausted with a Retry-After when storing need more bytes would leave
// less than Options.MinFree on the disk. It allows the write when the free space cannot be
// read; a full disk then fails the write itself.
func (s *Store) Room(need int64) error {
	free, known, err := s.Free()
	if err != nil || !known || free-need >= s.opt.MinFree {
		return nil //nolint:nilerr // free space that cannot be read refuses no upload
	}
	return noRoom(fmt.Errorf("objects: %d bytes are free, %d are needed, and %d must stay free", free, need, s.opt.MinFree))
}

// noRoom names no sizes to the caller. They are in the cause, for the log.
func noRoom(cause error) error {
	return fault.New(fault.CapacityExhausted, "The service has no room for more videos at the moment. Try again later.").
		WithRetryAfter(roomRetryAfterS).WithCause(cause)
}

// uploadsPerKey is the number of PUTs to one URL that may run at once on this node. The second
// one is for a client that retries before its broken connection was noticed. Each may take the
// size that the URL allows, but the quota of the account counts it once.
const uploadsPerKey = 2

// uploadRetryAfterS tells the sender of a further PUT when to try again, in seconds.
const uploadRetryAfterS = 5

// uploads counts the running PUTs by key.
type uploads struct {
	mu      sync.Mutex
	running map[string]int
}

// enterUpload counts a PUT until leave is called. It returns capacity_exhausted with a
// Retry-After when too many run.
func (s *Store) enterUpload(key string) (leave func(), err error) {
	u := &s.uploads
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running[key] >= uploadsPerKey {
		return nil, fault.Newf(fault.CapacityExhausted, "%d uploads to this URL are already running. Wait until one ends.", uploadsPerKey).
			WithRetryAfter(uploadRetryAfterS)
	}
	if u.running == nil {
		u.running = map[string]int{}
	}
	u.running[key]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.running[key]--; u.running[key] == 0 {
			delete(u.running, key)
		}
	}, nil
}

// diskFree returns the free space of the file system with a folder.
func diskFree(dir string) func() (int64, error) {
	return func() (int64, error) {
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); err != nil {
			return 0, err
		}
		return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,unconvert // no disk has 2^63 bytes; the types differ between systems
	}
}

// fromCallers reports whether a caller sends the bytes of a key, or names their URL. Only these
// are refused before the disk is full; the rest of the disk is for work on stored videos.
func fromCallers(key string) bool {
	return strings.HasPrefix(key, uploadPrefix) || strings.HasPrefix(key, videoPrefix) || strings.HasPrefix(key, recordingPrefix)
}

// diskError returns capacity_exhausted for a full disk, and an *UnavailableError for any other
// failure of the store. The error of a context that has ended stays as it is.
func diskError(verb, key string, err error) error {
	err = fmt.Errorf("objects: %s %s: %w", verb, key, err)
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return noRoom(err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return unavailable(err)
}
