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

// walkPage bounds the objects that Walk hands over at a time.
const walkPage = 500

// emptyFolderAge is when a folder without files is removed.
const emptyFolderAge = time.Hour

// Kind is what an object holds.
type Kind string

// The kinds, each below a prefix of its own.
const (
	Upload   Kind = "upload"
	Video    Kind = "video"
	Survey   Kind = "survey"
	Artifact Kind = "artifact"
)

// prefixes are where the objects of videos lie.
var prefixes = []struct {
	kind Kind
	path string
}{{Upload, uploadPrefix}, {Video, videoPrefix}, {Survey, surveyPrefix}, {Artifact, artifactPrefix}}

// Object is a stored object as Walk finds it.
type Object struct {
	Key     string
	Kind    Kind
	VideoID string
	// ModTime is when its bytes were last written.
	ModTime time.Time
	// Unfinished is true for a file that a Writer has not committed.
	Unfinished bool
}

// Walk hands every object of a video to visit, in pages of at most 500, in no order. Marks
// of frozen uploads are left out. What is written or removed meanwhile may or may not be
// seen. A page is whole in memory, and nothing else is.
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

// collector gathers a page.
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

// walkFolder reads a folder in portions: its names may not fit into memory at once, and a
// listing in order would read all of them for each page.
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
		// A young folder may be somebody's who is about to write there. One that is not
		// empty stays anyhow.
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

// Remove removes an object that Walk found. An absent one is no error.
func (s *Store) Remove(ctx context.Context, o Object) error {
	if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("objects: remove %s: %w", o.Key, err)
	}
	return nil
}

// DeleteVideo removes what is known to belong to a video that was deleted: its bytes, what
// was seen in it and drawn of it. Its upload is closed, so that a URL which is still valid
// brings nothing back. key is where its bytes lie, empty when it never had any.
func (s *Store) DeleteVideo(ctx context.Context, videoID, key string) error {
	errs := []error{s.Freeze(ctx, UploadKey(videoID)), s.Delete(ctx, SurveyKey(videoID)), s.DeleteArtifacts(ctx, videoID)}
	if key != "" {
		errs = append(errs, s.Delete(ctx, key))
	}
	return errors.Join(errs...)
}
