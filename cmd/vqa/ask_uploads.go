package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/account"
)

// maxUploads is the number of uploads that are remembered. The oldest are dropped.
const maxUploads = 1000

// upload is a file that was uploaded. The next question about the same bytes uses the same video.
type upload struct {
	// Key is the hash of the API key. The video belongs to its account.
	Key string `json:"key"`
	// Server is the base URL.
	Server string `json:"server"`
	// Content is the SHA-256 of the file.
	Content string `json:"content"`
	VideoID string `json:"video_id"`
}

// uploads is the list of uploads in the data folder. When it cannot be read or written, the only
// consequence is another upload.
type uploads struct{ path string }

func uploadsOf(c config) uploads { return uploads{filepath.Join(c.DataDir, "cli-uploads.json")} }

// find returns the video with the content of u. found is false when there is none, or when the video
// was deleted or is not ready.
func (all uploads) find(ctx context.Context, c *client.Client, u upload) (client.Video, bool) {
	list := all.read()
	i := slices.IndexFunc(list, u.same)
	if i < 0 {
		return client.Video{}, false
	}
	v, err := c.Video(ctx, list[i].VideoID)
	return v, err == nil && v.Status == "ready"
}

// same reports whether two uploads have the same bytes and the same account.
func (u upload) same(other upload) bool {
	return u.Key == other.Key && u.Server == other.Server && u.Content == other.Content
}

// remember puts u at the start of the list.
func (all uploads) remember(u upload) {
	list := slices.DeleteFunc(all.read(), u.same)
	list = append([]upload{u}, list[:min(len(list), maxUploads-1)]...)
	_ = writeFile(all.path, func(out io.Writer) error { return json.NewEncoder(out).Encode(list) }) // the file is uploaded again
}

func (all uploads) read() []upload {
	raw, err := os.ReadFile(all.path)
	var list []upload
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// contentOf returns the SHA-256 of a file and moves back to its start.
func contentOf(f io.ReadSeeker) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	_, err := f.Seek(0, io.SeekStart)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// known returns the video if the server already has it: by its id, or because the same bytes were
// uploaded before. u describes the file; it is empty for a URL or an id.
func (s *session) known(ctx context.Context, src client.Source) (v client.Video, u upload, found bool, err error) {
	switch {
	case src.VideoID != "":
		v, err = s.Video(ctx, src.VideoID)
		if err == nil && v.Status != "ready" {
			err = fmt.Errorf("the video %s is %s, not ready", v.ID, v.Status)
		}
		return v, u, err == nil, err
	case src.File == nil:
		return v, u, false, nil
	}
	u = upload{Key: account.HashSecret(s.Key), Server: s.Base}
	if u.Content, err = contentOf(src.File); err != nil {
		return v, u, false, err
	}
	v, found = uploadsOf(s.config).find(ctx, s.Client, u)
	return v, u, found, nil
}
