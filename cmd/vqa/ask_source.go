package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/domain/id"
)

// source is a video that a question is about: a file of this machine, a URL, or a video that
// the server has.
type source struct {
	url     string
	videoID string
	file    *os.File
	size    int64
	// content is the SHA-256 of the file, known after the server was asked for it.
	content string
}

// openSource opens a file, or takes a URL or the id of a video as it is.
func openSource(name string) (source, error) {
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return source{url: name}, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && id.Valid(id.Video, name) {
		return source{videoID: name}, nil
	}
	if err != nil {
		return source{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	if err != nil {
		return source{}, errors.Join(err, f.Close())
	}
	return source{file: f, size: info.Size()}, nil
}

// close lets go of the file, which was only read: there is nothing to lose.
func (s source) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// known returns the video when the server has it: by its id, or because the same bytes were
// uploaded before.
func (s *source) known(ctx context.Context, session *session) (v videoResource, found bool, err error) {
	switch {
	case s.videoID != "":
		v, err = session.video(ctx, s.videoID)
		if err == nil && v.Status != "ready" {
			err = fmt.Errorf("the video %s is %s, not ready", v.ID, v.Status)
		}
		return v, err == nil, err
	case s.file == nil:
		return v, false, nil
	}
	if s.content, err = contentOf(s.file); err != nil {
		return v, false, err
	}
	v, found = uploadsOf(session.config).find(ctx, session.client, s.upload(session, ""))
	return v, found, nil
}

// upload is what is remembered of a file that became a video.
func (s *source) upload(session *session, videoID string) upload {
	return upload{Key: account.HashSecret(session.key), Server: session.base, Content: s.content, VideoID: videoID}
}

// register brings the video to the server and returns it when it is ready.
func (s source) register(ctx context.Context, c *client, progress func(done, total int64)) (videoResource, error) {
	if s.url != "" {
		return s.registerURL(ctx, c, progress)
	}
	progress(0, s.size)
	body := map[string]any{"filename": filepath.Base(s.file.Name()), "content_type": contentType(s.file.Name())}
	if s.size > 0 {
		body["size_bytes"] = s.size
	}
	v, err := c.createVideo(ctx, body, newIdempotencyKey())
	if err != nil {
		return v, err
	}
	sent := &countingReader{from: s.file, total: s.size, report: progress}
	if err := c.upload(ctx, v, sent, s.size); err != nil {
		return v, err
	}
	return c.completeVideo(ctx, v.ID)
}

func (s source) registerURL(ctx context.Context, c *client, progress func(done, total int64)) (videoResource, error) {
	progress(0, 100)
	v, err := c.createVideo(ctx, map[string]any{"url": s.url}, newIdempotencyKey())
	if err != nil {
		return v, err
	}
	for v.Status == "processing" {
		if err := sleep(ctx, pollEvery); err != nil {
			return v, err
		}
		if v, err = c.video(ctx, v.ID); err != nil {
			return v, err
		}
	}
	if v.Status == "failed" && v.Error != nil {
		return v, v.Error
	}
	return v, nil
}

// contentType is by the file's name; the server looks at the bytes.
func contentType(name string) string {
	if mime.TypeByExtension(filepath.Ext(name)) == "video/quicktime" || strings.EqualFold(filepath.Ext(name), ".mov") {
		return "video/quicktime"
	}
	return "video/mp4"
}

// countingReader reports what was read of it.
type countingReader struct {
	from        io.Reader
	done, total int64
	report      func(done, total int64)
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.done += int64(n)
	r.report(r.done, r.total)
	return n, err
}

// sleep waits unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
