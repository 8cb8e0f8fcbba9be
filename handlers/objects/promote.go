package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"vqa/domain/fault"
)

// Promote makes to a durable copy of from, replacing what was there; from stays.
// etag is the one that was probed: when from was replaced since, the answer is
// resource_conflict and nothing changes. An absent from is resource_not_found.
func (s *Store) Promote(ctx context.Context, from, to, etag string) error {
	if err := errors.Join(checkKey(from), checkKey(to)); err != nil {
		return err
	}
	s.names.Lock()
	defer s.names.Unlock()
	info, err := s.Stat(ctx, from)
	if err != nil {
		return err
	}
	if info.ETag != etag {
		return replaced()
	}
	if s.dir != "" {
		linked, err := s.link(from, to)
		if linked || err != nil {
			return err
		}
	}
	err = s.bucket.Copy(ctx, to, from, &blob.CopyOptions{BeforeCopy: copyOnlyIf(etag)})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return replaced()
	}
	if err != nil {
		return translate("copy", from, err)
	}
	return nil
}

func replaced() error {
	return fault.New(fault.ResourceConflict, "The upload was replaced while it was being completed; complete it again.")
}

// link gives the file of from a second name. It reports false, without an error,
// when the file system has no hard links.
func (s *Store) link(from, to string) (bool, error) {
	src, _ := s.LocalPath(from)
	dst, _ := s.LocalPath(to)
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return false, fmt.Errorf("objects: promote %s: %w", from, err)
	}
	if err := syncFile(src); errors.Is(err, fs.ErrNotExist) {
		return false, fault.New(fault.ResourceNotFound, "").WithCause(err)
	} else if err != nil {
		return false, fmt.Errorf("objects: promote %s: %w", from, err)
	}
	temp := dst + "." + strconv.FormatInt(s.opt.Now().UnixNano(), 16) + tempSuffix
	if err := s.hardLink(src, temp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, fault.New(fault.ResourceNotFound, "").WithCause(err)
		}
		return false, nil // no hard links here: the caller copies, and a real fault shows there
	}
	// A rename between two names of one file does nothing and leaves both, so the
	// temporary name is removed in any case.
	defer func() { _ = os.Remove(temp) }()
	if err := os.Rename(temp, dst); err != nil {
		return false, fmt.Errorf("objects: promote %s: %w", from, err)
	}
	return true, syncFile(filepath.Dir(dst))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Freeze closes an upload for good: its bytes are removed and every later PUT to it
// is refused, also one that is on its way. It may be repeated.
func (s *Store) Freeze(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.names.Lock()
	defer s.names.Unlock()
	if err := s.bucket.WriteAll(ctx, key+closedSuffix, nil, &blob.WriterOptions{ContentType: "text/plain"}); err != nil {
		return fmt.Errorf("objects: freeze %s: %w", key, err)
	}
	return s.Delete(ctx, key)
}

// checkOpen answers resource_conflict for a frozen upload.
func (s *Store) checkOpen(ctx context.Context, key string) error {
	closed, err := s.bucket.Exists(ctx, key+closedSuffix)
	if err != nil {
		return fmt.Errorf("objects: look for the end of %s: %w", key, err)
	}
	if closed {
		return fault.New(fault.ResourceConflict, "The upload of this video is closed.")
	}
	return nil
}

// DeleteArtifacts removes what was drawn of a video; of none it is no error.
func (s *Store) DeleteArtifacts(ctx context.Context, videoID string) error {
	prefix := ArtifactKey(videoID, "")
	if err := checkKey(strings.TrimSuffix(prefix, "/")); err != nil {
		return err
	}
	for it := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("objects: list: %w", err)
		}
		if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return fmt.Errorf("objects: delete %s: %w", o.Key, err)
		}
	}
}

// Sweep removes uploads that nobody completed, the marks of frozen ones and the
// unfinished files of a killed process, when they are older than age, and returns
// how many. age must exceed the upload window (24 hours) by the life of a signed
// URL, else a URL that is still valid could revive a frozen upload.
func (s *Store) Sweep(ctx context.Context, age time.Duration) (int, error) {
	before := s.opt.Now().Add(-age)
	opts := &blob.ListOptions{Prefix: uploadPrefix}
	if s.dir != "" {
		opts.Prefix = "" // unfinished files lie beside every key
	}
	removed := 0
	for it := s.bucket.List(opts); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return removed, nil
		}
		if err != nil {
			return removed, fmt.Errorf("objects: list: %w", err)
		}
		stale := strings.HasPrefix(o.Key, uploadPrefix) || strings.HasSuffix(o.Key, tempSuffix)
		if !stale || !o.ModTime.Before(before) {
			continue
		}
		if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return removed, fmt.Errorf("objects: sweep %s: %w", o.Key, err)
		}
		removed++
	}
}
