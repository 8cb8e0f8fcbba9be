package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// maxUploads is how many uploads are remembered, the newest.
const maxUploads = 1000

// upload is a file that was uploaded. The next question about the same bytes is asked about
// the same video.
type upload struct {
	// Key is the hash of the API key, whose account has the video.
	Key string `json:"key"`
	// Server is the base URL.
	Server string `json:"server"`
	// Content is the SHA-256 of the file.
	Content string `json:"content"`
	VideoID string `json:"video_id"`
}

// uploads remembers, in the data folder beside the key, what was uploaded. It only saves
// work: a file that cannot be read or written costs another upload.
type uploads struct{ path string }

func uploadsOf(c config) uploads { return uploads{filepath.Join(c.DataDir, "cli-uploads.json")} }

// find returns the ready video that has the content of u, or false. One that was deleted
// since, or is not ready, is not found.
func (all uploads) find(ctx context.Context, c *client, u upload) (videoResource, bool) {
	list := all.read()
	i := slices.IndexFunc(list, u.same)
	if i < 0 {
		return videoResource{}, false
	}
	v, err := c.video(ctx, list[i].VideoID)
	return v, err == nil && v.Status == "ready"
}

// same reports whether two uploads are of the same bytes, to the same account.
func (u upload) same(other upload) bool {
	return u.Key == other.Key && u.Server == other.Server && u.Content == other.Content
}

// remember puts u in the first place.
func (all uploads) remember(u upload) {
	list := slices.DeleteFunc(all.read(), u.same)
	list = append([]upload{u}, list[:min(len(list), maxUploads-1)]...)
	raw, err := json.Marshal(list)
	if err != nil {
		return
	}
	temp, err := os.CreateTemp(filepath.Dir(all.path), "cli-uploads.*") // mode 0600
	if err != nil {
		return
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone once renamed
	_, err = temp.Write(raw)
	if errors.Join(err, temp.Close()) == nil {
		_ = os.Rename(temp.Name(), all.path)
	}
}

func (all uploads) read() []upload {
	raw, err := os.ReadFile(all.path)
	var list []upload
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// contentOf is the SHA-256 of a file, which is read from its beginning again afterwards.
func contentOf(f io.ReadSeeker) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	_, err := f.Seek(0, io.SeekStart)
	return hex.EncodeToString(hash.Sum(nil)), err
}
