package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"vqa/domain/fault"
)

// UnavailableError says that the object store failed. The same call may succeed later.
type UnavailableError struct{ Err error }

// Error implements error.
func (e *UnavailableError) Error() string { return "the object store is unavailable: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// unavailableRetryAfterS tells a refused caller when to try again, in seconds.
const unavailableRetryAfterS = 10

// unavailable returns capacity_exhausted with an *UnavailableError as its cause.
func unavailable(err error) error {
	return fault.New(fault.CapacityExhausted, "The service cannot use its object store at the moment. Try again later.").
		WithRetryAfter(unavailableRetryAfterS).WithCause(&UnavailableError{err})
}

// markName is the file in the folder of a store by which the store recognizes the folder. A
// folder without it was removed, or its disk is not mounted. Objects in such a folder would
// look deleted, and new ones would be written to the wrong disk.
const markName = ".vqa-objects"

// mark puts the mark into the folder of a store that is opened.
func mark(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, markName), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("objects: mark the folder: %w", err)
	}
	return file.Close()
}

// present returns an error when the folder of the store is gone. It does not check a bucket.
func (s *Store) present() error {
	if s.dir == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.dir, markName)); err != nil {
		return unavailable(fmt.Errorf("objects: the folder was removed, or its disk is not mounted: %w", err))
	}
	return nil
}

// healthPrefix is the prefix of the objects that Check writes.
const healthPrefix = "health/"

// Check writes an object, reads it and removes it again. Errors: capacity_exhausted with the
// cause, and the error of ctx.
func (s *Store) Check(ctx context.Context) error {
	if err := s.present(); err != nil {
		return err
	}
	key, text := healthPrefix+rand.Text(), rand.Text()
	defer func() { _ = s.bucket.Delete(context.WithoutCancel(ctx), key) }()
	if err := s.bucket.WriteAll(ctx, key, []byte(text), &blob.WriterOptions{ContentType: "text/plain"}); err != nil {
		return diskError("write", key, err)
	}
	read, err := s.bucket.ReadAll(ctx, key)
	if err != nil {
		return diskError("read", key, err)
	}
	if string(read) != text {
		return unavailable(errors.New("objects: an object was read back with other bytes"))
	}
	if err := s.bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return diskError("delete", key, err)
	}
	return nil
}

// Readable returns nil when the object exists and its first byte can be read. A missing object
// is an error of the store: callers ask only for objects that the log says are stored.
func (s *Store) Readable(ctx context.Context, key string) error {
	r, err := s.Reader(ctx, key)
	if fault.Has(err, fault.ResourceNotFound) {
		return unavailable(fmt.Errorf("objects: %s is missing: %w", key, err))
	}
	if err != nil {
		return err
	}
	_, err = r.Read(make([]byte, 1))
	if err = errors.Join(err, r.Close()); err != nil {
		return diskError("read", key, err)
	}
	return nil
}
