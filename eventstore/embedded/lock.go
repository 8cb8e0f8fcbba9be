package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is the pause between attempts to take a lock. flock can wait, but not with a context.
const lockPoll = 20 * time.Millisecond

// The two kinds of lock.
const (
	lockShared    = syscall.LOCK_SH
	lockExclusive = syscall.LOCK_EX
)

// lock is an advisory lock (flock) on a file. The kernel releases it when the
// process ends.
type lock struct{ file *os.File }

func openLock(dir, name string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &lock{file: f}, nil
}

// try takes the lock without waiting. how is lockShared or lockExclusive. It converts a lock that this
// process already holds.
func (l *lock) try(how int) (bool, error) {
	err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
	}
	return true, nil
}

// wait takes the lock exclusively. It waits for it until ctx ends.
func (l *lock) wait(ctx context.Context) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		ok, err := l.try(lockExclusive)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for another process to release %s: %w", l.file.Name(), ctx.Err())
		case <-tick.C:
		}
	}
}

// release closes the file, which drops the lock.
func (l *lock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	return nil
}
