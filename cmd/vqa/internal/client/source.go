package client

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

	"vqa/domain/id"
)

// Source is the video of a question: a file on this machine, a URL, or the id of a video on the
// server. Exactly one of URL, VideoID and File is set.
type Source struct {
	URL     string
	VideoID string
	File    *os.File
	size    int64
}

// OpenSource opens the file with this name, unless the name is a URL or the id of a video.
func OpenSource(name string) (Source, error) {
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return Source{URL: name}, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && id.Valid(id.Video, name) {
		return Source{VideoID: name}, nil
	}
	if err != nil {
		return Source{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	if err != nil {
		return Source{}, errors.Join(err, f.Close())
	}
	return Source{File: f, size: info.Size()}, nil
}

// Close closes the file. Its error does not matter, because the file was only read.
func (s Source) Close() {
	if s.File != nil {
		_ = s.File.Close()
	}
}

// Register uploads the file, or lets the server fetch the URL, and returns the video when it is
// ready.
func (s Source) Register(ctx context.Context, c *Client, progress func(done, total int64)) (Video, error) {
	if s.URL != "" {
		return s.registerURL(ctx, c, progress)
	}
	progress(0, s.size)
	body := map[string]any{"filename": filepath.Base(s.File.Name()), "content_type": contentType(s.File.Name())}
	if s.size > 0 {
		body["size_bytes"] = s.size
	}
	v, err := c.CreateVideo(ctx, body, NewIdempotencyKey())
	if err != nil {
		return v, err
	}
	sent := &countingReader{from: s.File, total: s.size, report: progress}
	if err := c.Upload(ctx, v, sent, s.size); err != nil {
		return v, err
	}
	return c.CompleteVideo(ctx, v.ID)
}

func (s Source) registerURL(ctx context.Context, c *Client, progress func(done, total int64)) (Video, error) {
	progress(0, 100)
	v, err := c.CreateVideo(ctx, map[string]any{"url": s.URL}, NewIdempotencyKey())
	if err != nil {
		return v, err
	}
	for v.Status == "processing" {
		if err := sleep(ctx, PollEvery); err != nil {
			return v, err
		}
		if v, err = c.Video(ctx, v.ID); err != nil {
			return v, err
		}
	}
	if v.Status == "failed" && v.Error != nil {
		return v, v.Error
	}
	return v, nil
}

// contentType follows from the file's name. The server checks the bytes.
func contentType(name string) string {
	if mime.TypeByExtension(filepath.Ext(name)) == "video/quicktime" || strings.EqualFold(filepath.Ext(name), ".mov") {
		return "video/quicktime"
	}
	return "video/mp4"
}

// countingReader calls report with the number of bytes that were read.
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

// sleep waits for d, or returns the error of ctx when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
