package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"vqa/domain/stream"
	"vqa/streaming/assemble"
)

// Defaults of Options.
const (
	defaultPartTime  = 10 * time.Second
	defaultPartBytes = 8 << 20
	defaultMaxBytes  = 32 << 20
	defaultPatience  = time.Minute
)

// Store stores objects; handlers/objects implements it.
type Store interface {
	// Put stores size bytes of content under the key, and replaces an earlier object. The object
	// is durable and complete when Put returns nil, and else unchanged.
	Put(ctx context.Context, key, contentType string, content io.Reader, size int64) error
	// Reader reads an object. It returns resource_not_found for a missing one.
	Reader(ctx context.Context, key string) (io.ReadSeekCloser, error)
	// Delete removes an object. A missing one is not an error.
	Delete(ctx context.Context, key string) error
}

// Options of a Recorder. Folder, Store and Stored are required. The zero value of each other field takes
// its default.
type Options struct {
	// Folder is the start of the keys, without a slash at its end.
	Folder string
	Store  Store
	// Stored is called with each part in order, when it is durable. It must not block.
	Stored func(part stream.Part)
	// Failed is called at most once, when the recording has failed. It must not block. It may be nil.
	Failed func(err error)
	// PartTime is the length after which a part ends. The default is 10 s.
	PartTime time.Duration
	// PartBytes is the largest size of a part, unless a single picture is larger. The default is
	// 8 MiB, and at most half of MaxBytes.
	PartBytes int64
	// MaxBytes is the largest size of all pictures in memory. The default is 32 MiB.
	MaxBytes int64
	// Patience is the time for which a part is tried. The default is one minute.
	Patience time.Duration
	// Now is the clock that stamped the pictures. The default is time.Now.
	Now func() time.Time
}

// ErrFull is the cause of a recording that failed because too many pictures wait for the store.
var ErrFull = errors.New("record: the store is too slow, and too many pictures wait for it")

// errCodec is the cause of a recording that failed because of a picture of another codec.
var errCodec = errors.New("record: only H.264 can be recorded")

// Recorder records one stream. It is safe for concurrent use.
type Recorder struct {
	options Options
	ctx     context.Context //nolint:containedctx // its end stops the work on the store
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	line    timeline
	open    *part   // the part that grows, or nil
	waiting []*part // complete parts, the first of which is being stored
	parts   int     // that were completed
	bytes   int64   // of the pictures of open and waiting
	closed  bool
	err     error // of a failed recording

	wake chan struct{} // has a token when waiting, closed or err has changed
}

// New returns a recorder. The caller must call Close.
func New(o Options) *Recorder {
	if o.PartTime == 0 {
		o.PartTime = defaultPartTime
	}
	if o.PartBytes == 0 {
		o.PartBytes = defaultPartBytes
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	o.PartBytes = min(o.PartBytes, o.MaxBytes/2)
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{options: o, wake: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.running.Go(r.run)
	return r
}

// Push adds the next picture of the stream. It never blocks, and keeps p.Data, which must not be
// changed afterwards. Pictures before the first keyframe are left out, and so are all pictures of a
// failed or closed recording.
func (r *Recorder) Push(p assemble.Picture) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed, r.err != nil, !r.line.started && !p.Key, len(p.Data) == 0:
		return
	case p.Codec != assemble.H264:
		r.fail(errCodec)
		return
	case r.bytes+int64(len(p.Data)) > r.options.MaxBytes:
		r.fail(ErrFull)
		return
	}
	at := r.line.place(p)
	if r.open != nil && r.open.full(p, r.options) {
		r.cut(at)
	}
	if r.open == nil {
		r.open = &part{began: p.At}
	}
	r.open.add(at, p.Data)
	r.bytes += int64(len(p.Data))
}

// Close stores the last part and waits for it. It gives up when ctx ends. It returns nil
// when every picture from the first keyframe on is recorded.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	if r.open != nil {
		r.cut(r.line.end())
	}
	r.mu.Unlock()
	notify(r.wake)
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fail(fmt.Errorf("record: close: %w", context.Cause(ctx)))
	})
	r.running.Wait()
	stop()
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Err returns why the recording has failed, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// cut completes the open part. end is the time of the next picture. The caller holds the lock.
func (r *Recorder) cut(end int64) {
	r.parts++
	r.open.report = stream.Part{
		Number: r.parts, Key: partKey(r.options.Folder, r.parts), SizeBytes: r.open.size, Frames: int64(len(r.open.entries)),
		DurationMillis: r.line.grow(end),
	}
	r.waiting = append(r.waiting, r.open)
	r.open = nil
	notify(r.wake)
}

// fail ends the recording and frees its memory. The first cause counts. The caller holds the lock.
func (r *Recorder) fail(err error) {
	if r.err != nil {
		return
	}
	r.err, r.open, r.waiting, r.bytes = err, nil, nil, 0
	r.cancel()
	notify(r.wake)
}

// run stores the parts, one after the other.
func (r *Recorder) run() {
	// A part must not wait for the next picture of a stream that pauses.
	silence := time.NewTicker(r.options.PartTime)
	defer silence.Stop()
	for {
		p, done := r.next()
		switch {
		case done:
			if err := r.Err(); err != nil && r.options.Failed != nil {
				r.options.Failed(err)
			}
			return
		case p != nil:
			r.keep(p)
		default:
			select {
			case <-r.wake:
			case <-silence.C:
				r.cutOld()
			}
		}
	}
}

// next returns the part to store, or nil. done is true when nothing is left to do.
func (r *Recorder) next() (p *part, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return nil, true
	case len(r.waiting) > 0:
		return r.waiting[0], false
	}
	return nil, r.closed
}

// cutOld completes the open part when it is older than PartTime.
func (r *Recorder) cutOld() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil && r.options.Now().Sub(r.open.began) >= r.options.PartTime {
		r.cut(r.line.end())
	}
}

// keep stores a part and reports it. After Patience, or with a context that has ended, the recording
// has failed.
func (r *Recorder) keep(p *part) {
	err := r.try(p)
	if err == nil {
		r.options.Stored(p.report)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.fail(err)
	}
	if r.err != nil {
		return
	}
	r.waiting[0] = nil
	r.waiting = r.waiting[1:]
	r.bytes -= p.size
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
