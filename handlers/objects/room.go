package objects

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"vqa/domain/fault"
)

// roomEvery is after how many written bytes a Writer looks at the free space again, and
// whether its upload is still open; lookEvery is after how much time it does.
const (
	roomEvery = 16 << 20
	lookEvery = 10 * time.Second
)

// roomRetryAfterS tells a refused caller when to try again, in seconds: somebody must make
// room first.
const roomRetryAfterS = 60

// Free returns the bytes that may still be written to the disk of a folder. known is false
// for another bucket, which has no such limit.
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

// Room refuses what would leave less than Options.MinFree on the disk when need more bytes
// are stored. Error: capacity_exhausted with a Retry-After. Free space that cannot be read
// refuses nothing: a disk that is really full shows when it is written.
func (s *Store) Room(need int64) error {
	free, known, err := s.Free()
	if err != nil || !known || free-need >= s.opt.MinFree {
		return nil
	}
	return noRoom(fmt.Errorf("objects: %d bytes are free, %d are needed, and %d must stay free", free, need, s.opt.MinFree))
}

// noRoom says nothing about the sizes: they are for the log.
func noRoom(cause error) error {
	return fault.New(fault.CapacityExhausted, "The service has no room for more videos at the moment. Try again later.").
		WithRetryAfter(roomRetryAfterS).WithCause(cause)
}

// uploadsPerKey is how many PUTs to one URL may run at once on this node: one, and one of a
// client that comes again before its broken connection was noticed. Each takes as much room
// as the URL allows, and the quota of an account counts that once.
const uploadsPerKey = 2

// uploadRetryAfterS tells the sender of a further PUT when to try again, in seconds.
const uploadRetryAfterS = 5

// uploads counts the running PUTs by key.
type uploads struct {
	mu      sync.Mutex
	running map[string]int
}

// enterUpload counts a PUT until leave. Error: capacity_exhausted with a Retry-After.
func (s *Store) enterUpload(key string) (leave func(), err error) {
	u := &s.uploads
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running[key] >= uploadsPerKey {
		return nil, fault.Newf(fault.CapacityExhausted, "%d uploads to this URL are under way. Wait for one to end.", uploadsPerKey).
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

// diskFree reads the free space of the file system that a folder is on.
func diskFree(dir string) func() (int64, error) {
	return func() (int64, error) {
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); err != nil {
			return 0, err
		}
		return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,unconvert // no disk has 2^63 bytes; the types differ between systems
	}
}

// fromCallers is true for keys whose bytes a caller sends or names. Only they are refused
// before the disk is full: the rest of it is for the work on what is already there.
func fromCallers(key string) bool {
	return strings.HasPrefix(key, uploadPrefix) || strings.HasPrefix(key, videoPrefix)
}

// diskError gives a full disk the code of one.
func diskError(verb, key string, err error) error {
	err = fmt.Errorf("objects: %s %s: %w", verb, key, err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return noRoom(err)
	}
	return err
}
