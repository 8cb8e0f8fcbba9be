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

// Writer writes one object. The object appears under its key with Commit; after Abort no bytes
// remain. A Writer is for one goroutine.
type Writer struct {
	store  *Store
	key    string
	ctx    context.Context // blob takes the context once, and Abort cancels it
	cancel context.CancelFunc
	w      *blob.Writer
	n      int64
	limit  int64
	// nextCheck is the size at which the free space and the upload are checked again, and
	// lastCheck the time of the last check. Bytes that the service itself makes are not
	// checked.
	nextCheck int64
	lastCheck time.Time
	done      bool
}

// Writer starts to write an object of at most limit bytes. The caller must call Commit or Abort.
// Abort after Commit does nothing, so it can be deferred. An earlier object with the same key
// stays until Commit.
func (s *Store) Writer(ctx context.Context, key, contentType string, limit int64) (*Writer, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := s.present(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType})
	if err != nil {
		cancel()
		return nil, diskError("write", key, err)
	}
	out := &Writer{store: s, key: key, ctx: ctx, cancel: cancel, w: w, limit: limit, nextCheck: math.MaxInt64}
	if fromCallers(key) {
		out.nextCheck = 0
	}
	return out, nil
}

// Write writes the next bytes. It returns video_too_large or payload_too_large beyond the limit,
// capacity_exhausted when the disk is nearly full, and resource_conflict when the upload was
// frozen meanwhile.
func (w *Writer) Write(p []byte) (int, error) {
	if w.n+int64(len(p)) > w.limit {
		return 0, tooLarge(w.n+int64(len(p)), w.limit)
	}
	if err := w.recheck(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.w.Write(p)
	w.n += int64(n)
	if err != nil {
		return n, diskError("write", w.key, err)
	}
	return n, nil
}

// recheck stops a transfer when the disk is nearly full or the upload was frozen. The bytes of
// a frozen upload count in no quota, so its sender could fill the disk with them.
func (w *Writer) recheck(need int64) error {
	if w.nextCheck == math.MaxInt64 || w.n < w.nextCheck && time.Since(w.lastCheck) < w.store.checkEvery {
		return nil
	}
	w.nextCheck, w.lastCheck = w.n+checkEveryBytes, time.Now()
	if strings.HasPrefix(w.key, uploadPrefix) {
		if err := w.store.checkOpen(w.ctx, w.key); err != nil {
			return err
		}
	}
	return w.store.Room(need)
}

// SizeBytes is the number of bytes written so far.
func (w *Writer) SizeBytes() int64 { return w.n }

// Commit publishes the object under its key. It returns resource_conflict for a frozen upload.
func (w *Writer) Commit() error {
	if w.done {
		return fmt.Errorf("objects: %s was already committed or aborted", w.key)
	}
	if strings.HasPrefix(w.key, uploadPrefix) {
		w.store.commits.Lock()
		defer w.store.commits.Unlock()
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

// Abort discards the written bytes.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.cancel()      // with a canceled context, Close discards instead of publishing
	_ = w.w.Close() // the error is the cancellation
}

func tooLarge(size, limit int64) error {
	if limit >= video.MaxBytes || size > video.MaxBytes {
		return fault.New(fault.VideoTooLarge, "")
	}
	return fault.Newf(fault.PayloadTooLarge, "The body is larger than %d bytes, which is the limit of this URL.", limit)
}
