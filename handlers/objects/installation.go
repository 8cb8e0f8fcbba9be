package objects

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"vqa/domain/fault"
)

// The object that identifies the bucket. It belongs to no video, so Walk leaves it out.
const (
	installationKey   = "installation/id"
	installationBytes = 200 // the largest size of its content
)

// InstallationID returns the id that SetInstallationID stored in this bucket, or "" when it has none.
func (s *Store) InstallationID(ctx context.Context) (string, error) {
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

// SetInstallationID stores the id of this bucket. It is on disk when the call returns.
func (s *Store) SetInstallationID(ctx context.Context, id string) error {
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
