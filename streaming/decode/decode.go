package decode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"vqa/streaming/assemble"
)

// Bounds of the pictures that wait for ffmpeg.
const (
	maxQueue      = 64
	maxQueueBytes = 8 << 20
)

// The waits before a start after one without success.
const (
	firstBackOff = 200 * time.Millisecond
	maxBackOff   = 5 * time.Second
)

// A change of the size or of the rotation costs a process. A sender that adapts changes it a few times, and a hostile one with each
// picture: after quickChanges within changesTime, the next process waits for changeWait.
const (
	quickChanges = 4
	changesTime  = 5 * time.Second
	changeWait   = time.Second
)

// Defaults of Options.
const (
	defaultFPS      = 5
	defaultMaxGap   = 2 * time.Second
	defaultLongSide = 640
	defaultStall    = 5 * time.Second
)

// FFmpeg starts ffmpeg; handlers/intake/ffmpeg implements it.
type FFmpeg interface {
	// Stream starts ffmpeg; it reads the bytes that are written to the result. The input options come before the
	// source, the output options after it. Reading yields what ffmpeg writes to pipe:1. side becomes
	// its descriptor 3; the caller closes its own copy. Close closes the input, waits for the end and
	// returns how it ended. The process is killed when ctx ends, or when it has used the CPU time.
	Stream(ctx context.Context, input, output []string, side *os.File, cpu time.Duration) (io.ReadWriteCloser, error)
}

// Options of a Decoder; the zero value of each field but Keyframe takes its default.
type Options struct {
	// FPS is the largest number of samples per second of the stream, 1 to 60, by the times of the sender and by
	// those of arrival. The default is 5.
	FPS int
	// MaxGap is the longest time between two pictures that pays for samples. The default is 2 s.
	MaxGap time.Duration
	// LongSide is the largest number of pixels on the longer side. The default is 640.
	LongSide int
	// Stall is the time after which an ffmpeg without output is replaced. The default is 5 s.
	Stall time.Duration
	// Colors returns filters that convert the colors of a stream to BT.709; it may be nil.
	Colors func(assemble.Light) []string
	// Keyframe asks the sender for a keyframe. It must not block.
	Keyframe func()
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// Sample is one picture for the engine.
type Sample struct {
	// Time is the RTP time of the picture, in ticks of 1/90000 s. It starts again with each track.
	Time int64
	// At is the time at which the last packet of the picture arrived.
	At time.Time
	// Width and Height are the size in pixels of the picture that was sent, upright.
	Width, Height int
	// JPEG is the picture, scaled.
	JPEG []byte
}

// Counts describes a stream so far.
type Counts struct {
	// Starts of ffmpeg.
	Starts int
	// Samples were made. Replaced ones among them were never read.
	Samples, Replaced int64
	// Dropped pictures came while no ffmpeg could take them.
	Dropped int64
	// LastError is the message of the last ffmpeg that failed.
	LastError string
}

// ErrClosed is returned by Next after Close.
var ErrClosed = errors.New("decode: closed")

// Decoder decodes one stream. It is safe for concurrent use.
type Decoder struct {
	ffmpeg  FFmpeg
	options Options
	ctx     context.Context //nolint:containedctx // its end stops the goroutine and the process
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	queue  []assemble.Picture
	bytes  int
	behind bool // pictures were dropped; only a keyframe can follow
	newest *Sample
	counts Counts

	waiting chan struct{} // has a token when queue has a picture
	fresh   chan struct{} // has a token when newest is set
}

// New returns a decoder. The caller must call Close.
func New(ffmpeg FFmpeg, o Options) *Decoder {
	if o.FPS == 0 {
		o.FPS = defaultFPS
	}
	if o.MaxGap == 0 {
		o.MaxGap = defaultMaxGap
	}
	if o.LongSide == 0 {
		o.LongSide = defaultLongSide
	}
	if o.Stall == 0 {
		o.Stall = defaultStall
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Decoder{ffmpeg: ffmpeg, options: o, waiting: make(chan struct{}, 1), fresh: make(chan struct{}, 1)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.running.Go(d.run)
	return d
}

// Push adds the next picture of the stream. When ffmpeg is too slow, all waiting pictures are dropped
// until the next keyframe.
func (d *Decoder) Push(f assemble.Picture) {
	d.mu.Lock()
	if len(d.queue) == maxQueue || d.bytes+len(f.Data) > maxQueueBytes {
		d.counts.Dropped += int64(len(d.queue))
		d.queue, d.bytes, d.behind = nil, 0, true
	}
	if d.behind && !f.Key {
		d.counts.Dropped++
		d.mu.Unlock()
		d.options.Keyframe()
		return
	}
	d.behind = false
	d.queue = append(d.queue, f)
	d.bytes += len(f.Data)
	d.mu.Unlock()
	notify(d.waiting)
}

// Next returns the newest sample that was not read yet. It waits for one, and returns ErrClosed or the
// cause of the end of ctx without one.
func (d *Decoder) Next(ctx context.Context) (Sample, error) {
	for {
		d.mu.Lock()
		s := d.newest
		d.newest = nil
		d.mu.Unlock()
		if s != nil {
			return *s, nil
		}
		select {
		case <-d.fresh:
		case <-ctx.Done():
			return Sample{}, fmt.Errorf("decode: %w", context.Cause(ctx))
		case <-d.ctx.Done():
			return Sample{}, ErrClosed
		}
	}
}

// Counts returns the counts of the stream so far.
func (d *Decoder) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// Close ends ffmpeg and waits until it is gone.
func (d *Decoder) Close() {
	d.cancel()
	d.running.Wait()
}

// run feeds the pictures to ffmpeg, one process after the other.
func (d *Decoder) run() {
	f := feeder{decoder: d, pacer: newPacer(d.options)}
	defer f.stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.waiting:
		}
		for picture, ok := d.take(); ok && d.ctx.Err() == nil; picture, ok = d.take() {
			if !f.feed(picture) {
				d.note(func(c *Counts) { c.Dropped++ })
			}
		}
	}
}

func (d *Decoder) take() (assemble.Picture, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return assemble.Picture{}, false
	}
	f := d.queue[0]
	d.queue[0] = assemble.Picture{}
	d.queue = d.queue[1:]
	d.bytes -= len(f.Data)
	return f, true
}

// offer replaces the newest sample.
func (d *Decoder) offer(s Sample) {
	d.mu.Lock()
	d.counts.Samples++
	if d.newest != nil {
		d.counts.Replaced++
	}
	d.newest = &s
	d.mu.Unlock()
	notify(d.fresh)
}

func (d *Decoder) note(change func(*Counts)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.counts)
}

// notify puts a token into a channel that holds one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// feeder owns the process of a decoder. It is for one goroutine.
type feeder struct {
	decoder *Decoder
	process *process
	pacer   pacer
	// next is the earliest time of a start, wait the delay after the next failure.
	next time.Time
	wait time.Duration
	// changes are the times of the latest changes of the size or the rotation, the oldest first.
	changes [quickChanges]time.Time
}

// feed passes a picture to ffmpeg. It returns false when the picture was dropped.
func (f *feeder) feed(picture assemble.Picture) bool {
	now, at := f.decoder.options.Now(), f.pacer.place(picture)
	if f.process != nil && !f.process.fits(picture) {
		f.stop()
		f.changed(now)
	} else if f.process != nil && f.process.hasEnded() {
		f.stop()
	}
	if f.process == nil {
		if now.Before(f.next) {
			return false
		}
		if !picture.Key {
			f.decoder.options.Keyframe()
			return false
		}
		if picture.Width*picture.Height > maxPixels {
			err := fmt.Errorf("decode: the pictures have %dx%d pixels, and at most %d can be decoded", picture.Width, picture.Height, maxPixels)
			f.decoder.note(func(c *Counts) { c.LastError = err.Error() })
			return false
		}
		p, err := start(f.decoder, picture, at)
		if err != nil {
			f.failed(err)
			return false
		}
		f.process = p
	}
	if err := f.process.write(picture, at, f.pacer.choose(picture, at)); err != nil {
		f.stop()
		f.decoder.options.Keyframe()
		return false
	}
	return true
}

// stop ends the process, if there is one. A process that made no sample delays the next one.
func (f *feeder) stop() {
	if f.process == nil {
		return
	}
	samples, err := f.process.stop()
	f.process = nil
	switch {
	case samples > 0 || f.decoder.ctx.Err() != nil:
		f.wait = 0
		if err != nil {
			f.decoder.note(func(c *Counts) { c.LastError = err.Error() })
		}
	case err != nil:
		f.failed(err)
	}
}

// changed delays the next start when the size changes all the time.
func (f *feeder) changed(now time.Time) {
	if next := now.Add(changeWait); now.Sub(f.changes[0]) < changesTime && next.After(f.next) {
		f.next = next
	}
	copy(f.changes[:], f.changes[1:])
	f.changes[quickChanges-1] = now
}

// failed delays the next start.
func (f *feeder) failed(err error) {
	f.wait = min(max(2*f.wait, firstBackOff), maxBackOff)
	f.next = f.decoder.options.Now().Add(f.wait)
	f.decoder.note(func(c *Counts) { c.LastError = err.Error() })
}
