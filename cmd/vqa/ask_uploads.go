package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/account"
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
func (all uploads) find(ctx context.Context, c *client.Client, u upload) (client.Video, bool) {
	list := all.read()
	i := slices.IndexFunc(list, u.same)
	if i < 0 {
		return client.Video{}, false
	}
	v, err := c.Video(ctx, list[i].VideoID)
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

// known returns the video when the server has it: by its id, or because the same bytes were
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
