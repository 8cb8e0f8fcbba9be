package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// prefix of the names of all folders.
const prefix = "vqa-scratch-"

// attempts at a folder that no Sweep takes for one of a dead process.
const attempts = 10

// Folder is an empty folder in the system's folder for temporary files (TMPDIR).
type Folder struct {
	// Path is absolute or relative, as TMPDIR is.
	Path string
	lock *os.File
}

// New makes a folder that only this user can read. The caller must call Remove.
func New() (*Folder, error) {
	for range attempts {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, fmt.Errorf("scratch: %w", err)
		}
		// A Sweep between these two steps takes the folder for one of a dead process.
		switch lock, err := claim(path); {
		case errors.Is(err, errTaken) || errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, errors.Join(fmt.Errorf("scratch: %w", err), os.Remove(path))
		default:
			return &Folder{Path: path, lock: lock}, nil
		}
	}
	return nil, errors.New("scratch: every new folder was removed at once")
}

// Remove removes the folder with everything in it.
func (f *Folder) Remove() error {
	if err := errors.Join(os.RemoveAll(f.Path), f.lock.Close()); err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	return nil
}

// Sweep removes the folders of this user's processes that have ended, and returns how many.
func Sweep() (removed int, err error) {
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return 0, fmt.Errorf("scratch: %w", err)
	}
	var failed []error
	for _, path := range paths {
		if info, err := os.Lstat(path); err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			continue
		}
		lock, err := claim(path)
		if err != nil {
			continue // its process lives, or another node sweeps as well
		}
		if err := errors.Join(os.RemoveAll(path), lock.Close()); err != nil {
			failed = append(failed, fmt.Errorf("scratch: %w", err))
			continue
		}
		removed++
	}
	return removed, errors.Join(failed...)
}

var errTaken = errors.New("another process has the folder")

// claim locks a folder until the file is closed or the process ends. It returns an error
// when another process has it or it is gone.
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
	// Whoever had the lock before may have removed the folder.
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
