package objects

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"vqa/domain/fault"
)

// await returns when the object of an awaited URL is there, or nothing makes it any more.
func (s *Store) await(ctx context.Context, key string) error {
	there, err := s.bucket.Exists(ctx, key)
	if err != nil {
		return fmt.Errorf("objects: look for %s: %w", key, err)
	}
	if there || s.opt.Await == nil {
		return nil
	}
	return s.opt.Await(ctx, key)
}

// sendOnLife is the life of the URL that a reader is sent on to: a player that goes on
// reading keeps to it.
const sendOnLife = SignedURLLife

// sendOn answers an awaited URL of a bucket that is not a folder: a GET goes on to the
// bucket, with its Range. A URL that the bucket signed for GET is not good for HEAD, which
// is answered here.
func (s *Store) sendOn(w http.ResponseWriter, r *http.Request, g grant) error {
	if !g.awaited {
		return fault.New(fault.ResourceNotFound, "")
	}
	info, err := s.Stat(r.Context(), g.key)
	if err != nil {
		return err
	}
	h := w.Header()
	if r.Method == http.MethodHead {
		h.Set("Content-Type", g.contentType)
		h.Set("Content-Disposition", disposition(g.filename))
		h.Set("Accept-Ranges", "bytes")
		h.Set("Content-Length", strconv.FormatInt(info.SizeBytes, 10))
		h.Set("Last-Modified", info.ModTime.UTC().Format(http.TimeFormat))
		if info.ETag != "" {
			h.Set("ETag", info.ETag)
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
	signed, err := s.DownloadURL(r.Context(), g.key, g.filename, g.contentType, min(sendOnLife, g.expiresAt.Sub(s.opt.Now())+time.Second))
	if err != nil {
		return err
	}
	h.Set("Cache-Control", "no-store")
	http.Redirect(w, r, signed.URL, http.StatusTemporaryRedirect)
	return nil
}
