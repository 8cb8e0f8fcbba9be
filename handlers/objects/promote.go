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

// Promote makes the object to a durable copy of from. It replaces an earlier object, and from
// stays. etag is that of the probed bytes: when from was replaced since, Promote returns
// resource_conflict and changes nothing. It returns resource_not_found when from is missing.
func (s *Store) Promote(ctx context.Context, from, to, etag string) error {
	if err := errors.Join(checkKey(from), checkKey(to)); err != nil {
		return err
	}
	s.commits.Lock()
	defer s.commits.Unlock()
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
		return s.translate("copy", from, err)
	}
	return nil
}

func replaced() error {
	return fault.New(fault.ResourceConflict, "The upload was replaced while it was being completed. Complete it again.")
}

// link gives the file of from a second name. It returns false without an error when the file
// system has no hard links.
func (s *Store) link(from, to string) (bool, error) {
	src, _ := s.LocalPath(from)
	dst, _ := s.LocalPath(to)
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return false, diskError("promote", from, err)
	}
	if err := syncFile(src); errors.Is(err, fs.ErrNotExist) {
		return false, fault.New(fault.ResourceNotFound, "").WithCause(err)
	} else if err != nil {
		return false, diskError("promote", from, err)
	}
	temp := dst + "." + strconv.FormatInt(s.opt.Now().UnixNano(), 16) + tempSuffix
	if err := s.hardLink(src, temp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, fault.New(fault.ResourceNotFound, "").WithCause(err)
		}
		return false, nil // no hard links here: the caller copies, and meets any other problem
	}
	// A rename between two names of one file does nothing and leaves both names, so the
	// temporary name is always removed.
	defer func() { _ = os.Remove(temp) }()
	if err := os.Rename(temp, dst); err != nil {
		return false, diskError("promote", from, err)
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

// Freeze closes an upload permanently. It removes the bytes; every later PUT is refused, and so
// is one that is running. Freeze may be repeated.
func (s *Store) Freeze(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.commits.Lock()
	defer s.commits.Unlock()
	// The folder may have gone while this call waited.
	if err := s.present(); err != nil {
		return err
	}
	if err := s.bucket.WriteAll(ctx, key+closedSuffix, nil, &blob.WriterOptions{ContentType: "text/plain"}); err != nil {
		return diskError("freeze", key, err)
	}
	return s.Delete(ctx, key)
}

// checkOpen returns resource_conflict for a frozen upload.
func (s *Store) checkOpen(ctx context.Context, key string) error {
	closed, err := s.bucket.Exists(ctx, key+closedSuffix)
	if err != nil {
		return diskError("check whether it is closed:", key, err)
	}
	if closed {
		return fault.New(fault.ResourceConflict, "The upload of this video is closed. Create a new video to upload another file.")
	}
	return nil
}

// deleteArtifacts removes the artifacts of a video, if it has any.
func (s *Store) deleteArtifacts(ctx context.Context, videoID string) error {
	return s.deleteAll(ctx, ArtifactKey(videoID, ""))
}

// deleteAll removes every object with a prefix that ends in a slash.
func (s *Store) deleteAll(ctx context.Context, prefix string) error {
	if err := checkKey(strings.TrimSuffix(prefix, "/")); err != nil {
		return err
	}
	for it := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return diskError("list", prefix, err)
		}
		if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return diskError("delete", o.Key, err)
		}
	}
}

// Sweep removes objects that were last written before a time, and returns their number. These
// are uploads that were not completed, the marks of frozen uploads, and unfinished files of a
// killed process. The time must be at least the upload window (24 hours) plus the life of a
// signed URL ago. Otherwise a valid URL could reopen a frozen upload.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	opts := &blob.ListOptions{Prefix: uploadPrefix}
	if s.dir != "" {
		opts.Prefix = "" // unfinished files are in every folder
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
