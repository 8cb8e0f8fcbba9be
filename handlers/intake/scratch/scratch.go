package scratch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// prefix starts the names of all locked folders.
	prefix = "vqa-scratch-"
	// unlockedPrefix starts the name of a folder that New has not locked yet.
	unlockedPrefix = "vqa-new-scratch-"
	// unlockedAge is the age at which an unlocked folder belongs to no running New, which
	// needs less than a millisecond.
	unlockedAge = time.Hour
)

// Folder is an empty folder in the system's folder for temporary files (TMPDIR).
type Folder struct {
	// Path is absolute or relative, as TMPDIR is.
	Path string
	lock *os.File
}

// New makes a folder that only this user can read. The caller must call Remove.
func New() (*Folder, error) {
	name := rand.Text()
	unlocked, path := filepath.Join(os.TempDir(), unlockedPrefix+name), filepath.Join(os.TempDir(), prefix+name)
	if err := os.Mkdir(unlocked, 0o700); err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	lock, err := claim(unlocked)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("scratch: %w", err), os.Remove(unlocked))
	}
	if err := os.Rename(unlocked, path); err != nil {
		return nil, errors.Join(fmt.Errorf("scratch: %w", err), os.Remove(unlocked), lock.Close())
	}
	return &Folder{Path: path, lock: lock}, nil
}

// Remove removes the folder with everything in it.
func (f *Folder) Remove() error {
	if err := errors.Join(os.RemoveAll(f.Path), f.lock.Close()); err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	return nil
}

// Sweep removes the folders of this user's ended processes, and returns their number.
func Sweep() (removed int, err error) {
	var failed []error
	for pattern, age := range map[string]time.Duration{prefix + "*": 0, unlockedPrefix + "*": unlockedAge} {
		paths, err := filepath.Glob(filepath.Join(os.TempDir(), pattern))
		if err != nil {
			return removed, fmt.Errorf("scratch: %w", err)
		}
		for _, path := range paths {
			swept, err := sweep(path, age)
			if err != nil {
				failed = append(failed, fmt.Errorf("scratch: %w", err))
			}
			if swept {
				removed++
			}
		}
	}
	return removed, errors.Join(failed...)
}

// sweep removes one folder, unless it is younger than age or its process lives.
func sweep(path string, age time.Duration) (removed bool, err error) {
	info, err := os.Lstat(path)
	own := uint32(os.Geteuid()) //nolint:gosec // a user id is not negative on Linux
	if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != own || time.Since(info.ModTime()) < age {
		return false, nil //nolint:nilerr // the folder is gone
	}
	lock, err := claim(path)
	if err != nil {
		return false, nil //nolint:nilerr // the process of the folder lives, or another node sweeps too
	}
	err = errors.Join(os.RemoveAll(path), lock.Close())
	return err == nil, err
}

var errTaken = errors.New("another process has the folder")

// claim locks a folder until the file is closed or the process ends. It returns an error
// when another process has the lock or the folder is gone.
func claim(path string) (*os.File, error) {
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errTaken
		}
		return nil, errors.Join(err, folder.Close())
	}
	// The process that had the lock before may have removed the folder.
	locked, err := folder.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Lstat(path); err == nil && !os.SameFile(locked, named) {
			err = errTaken
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}
