package objects

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"gocloud.dev/blob"

	"vqa/domain/fault"
	"vqa/domain/video"
)

// Writer gathers the bytes of one object. Nothing is to be seen under its key
// before Commit, and nothing stays after Abort. It is for one goroutine.
type Writer struct {
	store  *Store
	key    string
	ctx    context.Context // blob binds a write to one context, and abort is its cancellation
	cancel context.CancelFunc
	w      *blob.Writer
	n      int64
	limit  int64
	// look is the size at which the disk and the upload are looked at again, and looked when
	// they were; look is never reached where the bytes are the service's own.
	look   int64
	looked time.Time
	done   bool
}

// Writer begins to write the object key, of at most limit bytes. Exactly one of
// Commit and Abort must follow; Abort after Commit does nothing, so it can be
// deferred. An earlier object of the same key stays until Commit.
func (s *Store) Writer(ctx context.Context, key, contentType string, limit int64) (*Writer, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("objects: write %s: %w", key, err)
	}
	out := &Writer{store: s, key: key, ctx: ctx, cancel: cancel, w: w, limit: limit, look: math.MaxInt64}
	if fromCallers(key) {
		out.look = 0
	}
	return out, nil
}

// Write takes the next bytes. Going over the limit is video_too_large or
// payload_too_large, as the limit is that of a video or a smaller one. A disk that is nearly
// full is capacity_exhausted, and an upload that was frozen meanwhile resource_conflict.
func (w *Writer) Write(p []byte) (int, error) {
	if w.n+int64(len(p)) > w.limit {
		return 0, tooLarge(w.n+int64(len(p)), w.limit)
	}
	if err := w.lookAgain(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.w.Write(p)
	w.n += int64(n)
	if err != nil {
		return n, diskError("write", w.key, err)
	}
	return n, nil
}

// lookAgain ends a transfer for which there is no more room, and one of an upload that was
// frozen meanwhile: its bytes are in no account's quota any more, and would stay on the disk
// for as long as its sender likes.
func (w *Writer) lookAgain(need int64) error {
	if w.look == math.MaxInt64 || w.n < w.look && time.Since(w.looked) < w.store.lookEvery {
		return nil
	}
	w.look, w.looked = w.n+roomEvery, time.Now()
	if strings.HasPrefix(w.key, uploadPrefix) {
		if err := w.store.checkOpen(w.ctx, w.key); err != nil {
			return err
		}
	}
	return w.store.Room(need)
}

// SizeBytes is the number of bytes written so far.
func (w *Writer) SizeBytes() int64 { return w.n }

// Commit gives the object its name. A frozen upload is resource_conflict.
func (w *Writer) Commit() error {
	if w.done {
		return fmt.Errorf("objects: %s was already committed or aborted", w.key)
	}
	if strings.HasPrefix(w.key, uploadPrefix) {
		w.store.names.Lock()
		defer w.store.names.Unlock()
		if err := w.store.checkOpen(w.ctx, w.key); err != nil {
			w.Abort()
			return err
		}
	}
	w.done = true
	defer w.cancel()
	if err := w.w.Close(); err != nil {
		return diskError("commit", w.key, err)
	}
	return nil
}

// Abort drops what was written.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.cancel()      // the cancelled context makes Close discard instead of publish
	_ = w.w.Close() // its error is that cancellation
}

func tooLarge(size, limit int64) error {
	if limit >= video.MaxBytes || size > video.MaxBytes {
		return fault.New(fault.VideoTooLarge, "")
	}
	return fault.Newf(fault.PayloadTooLarge, "The body is larger than %d bytes, the most that this URL accepts.", limit)
}
