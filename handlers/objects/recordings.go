package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// RecordingKey returns the key for an object of the recording of a stream.
func RecordingKey(streamID, name string) string { return recordingPrefix + streamID + "/" + name }

// Put stores size bytes of content under the key, and replaces an earlier object. The object is on
// disk when Put returns nil. It returns the errors of Writer, and an error when content has another
// size; then the key is unchanged.
func (s *Store) Put(ctx context.Context, key, contentType string, content io.Reader, size int64) error {
	w, err := s.Writer(ctx, key, contentType, size)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, content); err != nil {
		return err
	}
	if w.SizeBytes() != size {
		return fmt.Errorf("objects: %s was given %d of %d bytes", key, w.SizeBytes(), size)
	}
	if err := w.Commit(); err != nil {
		return err
	}
	path, local := s.LocalPath(key)
	if !local {
		return nil
	}
	// A folder may be new too, so the folders above it are synced up to that of the store.
	for ; err == nil && len(path) >= len(s.dir); path = filepath.Dir(path) {
		err = syncFile(path)
	}
	if err != nil {
		return diskError("sync", key, err)
	}
	return nil
}

// DeleteRecording removes every object of the recording of a stream, also parts that were stored but
// not recorded. A nil error means that they are gone. It may be repeated.
func (s *Store) DeleteRecording(ctx context.Context, streamID string) error {
	// In a folder that is not mounted, every object looks as if it were gone.
	if err := s.present(); err != nil {
		return err
	}
	prefix := RecordingKey(streamID, "")
	if err := s.deleteAll(ctx, prefix); err != nil {
		return err
	}
	if dir, local := s.LocalPath(strings.TrimSuffix(prefix, "/")); local {
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return diskError("delete", prefix, err)
		}
	}
	return nil
}
