package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"vqa/domain/fault"
)

// The object that identifies the bucket. It belongs to no video, so Walk leaves it out.
const (
	installationKey   = "installation/id"
	installationBytes = 200 // the largest size of its content
)

// InstallationID returns the id that SetInstallationID stored in this bucket, or "" when it has none.
// A folder with an id gets the mark of a store.
func (s *Store) InstallationID(ctx context.Context) (string, error) {
	if s.dir != "" {
		_, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(installationKey)))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err := errors.Join(err, mark(s.dir)); err != nil {
			return "", unavailable(err)
		}
	}
	r, err := s.Reader(ctx, installationKey)
	if f := fault.Of(err); f != nil && f.Code == fault.ResourceNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }() // reading only
	id, err := io.ReadAll(io.LimitReader(r, installationBytes))
	if err != nil {
		return "", fmt.Errorf("objects: read %s: %w", installationKey, err)
	}
	return string(id), nil
}

// SetInstallationID stores the id of this bucket, and marks a folder. The id is on disk when the call
// returns.
func (s *Store) SetInstallationID(ctx context.Context, id string) error {
	if s.dir != "" {
		if err := mark(s.dir); err != nil {
			return err
		}
	}
	w, err := s.Writer(ctx, installationKey, "text/plain", installationBytes)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.WriteString(w, id); err != nil {
		return err
	}
	if err := w.Commit(); err != nil {
		return err
	}
	path, local := s.LocalPath(installationKey)
	if !local {
		return nil
	}
	for _, p := range []string{path, filepath.Dir(path), s.dir} {
		if err := syncFile(p); err != nil {
			return fmt.Errorf("objects: write %s to the disk: %w", installationKey, err)
		}
	}
	return nil
}
