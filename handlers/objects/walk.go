package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// walkPage is the largest number of objects in a page of Walk.
const walkPage = 500

// emptyFolderAge is the age at which a folder without files is removed.
const emptyFolderAge = time.Hour

// Kind is the kind of an object.
type Kind string

// The kinds. Each has its own prefix.
const (
	Upload   Kind = "upload"
	Video    Kind = "video"
	Survey   Kind = "survey"
	Artifact Kind = "artifact"
)

// prefixes are the prefixes of all objects of videos.
var prefixes = []struct {
	kind Kind
	path string
}{{Upload, uploadPrefix}, {Video, videoPrefix}, {Survey, surveyPrefix}, {Artifact, artifactPrefix}}

// Object is a stored object as Walk reports it.
type Object struct {
	Key     string
	Kind    Kind
	VideoID string
	// ModTime is the time of the last write.
	ModTime time.Time
	// Unfinished is true for a file that a Writer has not committed.
	Unfinished bool
}

// Walk calls visit with all objects of videos, in pages of at most 500 and in any order. It
// leaves out the marks of frozen uploads. It may or may not report objects that are written or
// removed meanwhile. Only one page is in memory at a time.
func (s *Store) Walk(ctx context.Context, visit func(page []Object) error) error {
	for _, p := range prefixes {
		collect := collector{kind: p.kind, visit: visit}
		var err error
		if s.dir != "" {
			err = s.walkFolder(ctx, p.path, &collect)
		} else {
			err = s.walkBucket(ctx, p.path, &collect)
		}
		if err = errors.Join(err, collect.flush()); err != nil {
			return fmt.Errorf("objects: walk %s: %w", p.path, err)
		}
	}
	return nil
}

// collector collects a page.
type collector struct {
	kind  Kind
	visit func([]Object) error
	page  []Object
}

func (c *collector) add(key string, modTime time.Time) error {
	if strings.HasSuffix(key, closedSuffix) {
		return nil
	}
	_, rest, _ := strings.Cut(key, "/")
	id := rest
	if end := strings.IndexAny(rest, "./"); end >= 0 {
		id = rest[:end]
	}
	c.page = append(c.page, Object{Key: key, Kind: c.kind, VideoID: id, ModTime: modTime, Unfinished: strings.HasSuffix(key, tempSuffix)})
	if len(c.page) < walkPage {
		return nil
	}
	return c.flush()
}

func (c *collector) flush() error {
	page := c.page
	c.page = nil
	if len(page) == 0 {
		return nil
	}
	return c.visit(page)
}

// walkFolder reads a folder in portions, because its names may not fit into memory at once. A
// sorted listing would read all of them for each page.
func (s *Store) walkFolder(ctx context.Context, path string, c *collector) error {
	dir, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		entries, err := dir.ReadDir(walkPage)
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := s.walkEntry(ctx, path, e, c); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (s *Store) walkEntry(ctx context.Context, path string, e fs.DirEntry, c *collector) error {
	if e.IsDir() {
		if err := s.walkFolder(ctx, path+e.Name()+"/", c); err != nil {
			return err
		}
		// A Writer may be about to write into a young folder. Remove fails for a folder that
		// is not empty.
		if info, err := e.Info(); err == nil && s.opt.Now().Sub(info.ModTime()) > emptyFolderAge {
			_ = os.Remove(filepath.Join(s.dir, filepath.FromSlash(path+e.Name())))
		}
		return nil
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	return c.add(path+e.Name(), info.ModTime())
}

func (s *Store) walkBucket(ctx context.Context, path string, c *collector) error {
	for it := s.bucket.List(&blob.ListOptions{Prefix: path}); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.add(o.Key, o.ModTime); err != nil {
			return err
		}
	}
}

// Remove removes an object that Walk reported. A missing object is not an error.
func (s *Store) Remove(ctx context.Context, o Object) error {
	if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("objects: remove %s: %w", o.Key, err)
	}
	return nil
}

// DeleteVideo removes the objects of a deleted video: its bytes, its survey and its artifacts.
// It closes the upload, so that a valid URL cannot store new bytes. key is the key of the
// video's bytes, or empty when it has none. A nil error means that these objects are gone.
func (s *Store) DeleteVideo(ctx context.Context, videoID, key string) error {
	// In a folder that is not mounted, every object looks as if it were gone.
	if err := s.present(); err != nil {
		return err
	}
	errs := []error{s.Freeze(ctx, UploadKey(videoID)), s.Delete(ctx, SurveyKey(videoID)), s.deleteArtifacts(ctx, videoID)}
	if key != "" {
		errs = append(errs, s.Delete(ctx, key))
	}
	return errors.Join(errs...)
}
