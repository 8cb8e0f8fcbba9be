package objects

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"vqa/domain/fault"
)

// await returns when the object of an awaited URL exists or can no longer appear.
func (s *Store) await(ctx context.Context, key string) error {
	exists, err := s.bucket.Exists(ctx, key)
	if err != nil {
		return fmt.Errorf("objects: look for %s: %w", key, err)
	}
	if exists || s.opt.Await == nil {
		return nil
	}
	return s.opt.Await(ctx, key)
}

// redirectLife is the life of the URL that a reader is redirected to. A player reads the rest
// of the video from it.
const redirectLife = SignedURLLife

// redirect serves an awaited URL of a bucket that is not a folder. It redirects a GET to the
// bucket, which also gets its Range. It answers a HEAD itself, because the bucket accepts a
// URL that is signed for GET only with GET.
func (s *Store) redirect(w http.ResponseWriter, r *http.Request, g grant) error {
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
	signed, err := s.DownloadURL(r.Context(), g.key, g.filename, g.contentType, min(redirectLife, g.expiresAt.Sub(s.opt.Now())+time.Second))
	if err != nil {
		return err
	}
	h.Set("Cache-Control", "no-store")
	http.Redirect(w, r, signed.URL, http.StatusTemporaryRedirect)
	return nil
}
