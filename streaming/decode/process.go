package decode

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"vqa/streaming/assemble"
)

const (
	// cpuTime bounds one run of ffmpeg. An hour of 1080p at 30 frames per second takes 20 minutes.
	cpuTime = 2 * time.Hour
	// exitWait is the time for an ffmpeg without input to end.
	exitWait = time.Second
	// maxPixels of a picture: 4096x4096.
	maxPixels = 4096 * 4096
)

// input are the options of the input; see the documentation of the package.
var input = []string{
	"-max_pixels", strconv.Itoa(maxPixels), "-probesize", "32", "-analyzeduration", "0", "-threads", "1", "-f", "ivf",
}

// turns are the filters for each rotation.
var turns = map[int][]string{90: {"transpose=clock"}, 180: {"hflip", "vflip"}, 270: {"transpose=cclock"}}

// timeScale is the number of units of the times in the input in a second. The lowest bit is 0 for a picture that
// becomes a sample. So a time has half of the units in ticks.
const timeScale = 2 * assemble.ClockRate

// output returns the options of the output. Standard output carries the JPEGs (multipart, with
// lengths), descriptor 3 a line with the time of each. Quality and scaling are those of uploads
// (gpu/frames).
func output(o Options, key assemble.Picture) []string {
	scale := fmt.Sprintf("min(1,%d/max(iw*sar,ih))", o.LongSide)
	chain := []string{
		`select='not(mod(pts\,2))'`,
		"metadata=mode=add:key=at:value=1",
		`metadata=mode=print:key=at:direct=1:file='pipe\:3'`,
		fmt.Sprintf("scale=w='max(1,round(iw*sar*%s))':h='max(1,round(ih*%s))':flags=area", scale, scale),
	}
	if o.Colors != nil {
		chain = append(chain, o.Colors(key.Light)...)
	}
	chain = append(chain, "scale=out_range=pc:out_color_matrix=bt601", "setsar=1")
	chain = append(chain, turns[key.Rotation]...)
	chain = append(chain, "format=yuvj420p")
	return []string{
		"-map", "0:v:0", "-vf", strings.Join(chain, ","), "-filter_threads", "1", "-fps_mode", "passthrough",
		"-c:v", "mjpeg", "-threads", "1", "-qmin", "1", "-q:v", "1", "-flush_packets", "1", "-f", "mpjpeg", "pipe:1",
	}
}

var errStalled = errors.New("ffmpeg made no progress in time")

// process is a running ffmpeg. One goroutine writes and stops it, another one reads its samples.
type process struct {
	decoder *Decoder
	first   assemble.Picture // without data
	began   int64            // the time of first by the pacer
	pipe    io.ReadWriteCloser
	cancel  context.CancelCauseFunc
	ctx     context.Context //nolint:containedctx // its cause says why the process was killed
	buffer  []byte
	opened  bool // first was written

	mu      sync.Mutex
	awaited []awaited
	writing bool
	stalled *time.Timer
	samples int

	ended chan struct{}
	err   error // set before ended is closed
}

// awaited is a picture that will be a sample.
type awaited struct {
	pts  int64 // in the input
	time int64 // of the sender
	at   time.Time
}

// start runs ffmpeg for a stream that begins with a keyframe, at a time of the pacer.
func start(d *Decoder, key assemble.Picture, at int64) (*process, error) {
	times, side, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	defer func() { _ = side.Close() }() // the child has its own copy
	p := &process{decoder: d, first: key, began: at, ended: make(chan struct{})}
	p.first.Data = nil
	p.ctx, p.cancel = context.WithCancelCause(d.ctx)
	if p.pipe, err = d.ffmpeg.Stream(p.ctx, input, output(d.options, key), side, cpuTime); err != nil {
		p.cancel(nil)
		_ = times.Close()
		return nil, fmt.Errorf("decode: %w", err)
	}
	d.note(func(c *Counts) { c.Starts++ })
	p.stalled = time.AfterFunc(math.MaxInt64, func() { p.cancel(errStalled) })
	p.buffer = ivfHeader(key)
	go p.read(times)
	return p, nil
}

// ivfHeader returns the header of an IVF stream.
func ivfHeader(f assemble.Picture) []byte {
	fourCC := map[assemble.Codec]string{assemble.H264: "H264", assemble.VP8: "VP80", assemble.VP9: "VP90"}[f.Codec]
	h := append([]byte("DKIF\x00\x00\x20\x00"), fourCC...)
	h = binary.LittleEndian.AppendUint16(h, uint16(f.Width))  //nolint:gosec // the codecs allow 16 bits
	h = binary.LittleEndian.AppendUint16(h, uint16(f.Height)) //nolint:gosec // as before
	h = binary.LittleEndian.AppendUint32(h, timeScale)
	h = binary.LittleEndian.AppendUint32(h, 1)
	return binary.LittleEndian.AppendUint64(h, 0)
}

// fits reports whether the process can decode a stream that goes on with the picture. The rotation changes at any one.
func (p *process) fits(next assemble.Picture) bool {
	return next.Codec == p.first.Codec && next.Width == p.first.Width && next.Height == p.first.Height &&
		next.Rotation == p.first.Rotation && next.Light == p.first.Light
}

// hasEnded reports whether ffmpeg ended by itself.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// write passes a picture at a time of the pacer to ffmpeg. ffmpeg counts from the first time, so the first picture has
// 0. When it is not chosen, its sample is ignored.
func (p *process) write(f assemble.Picture, at int64, chosen bool) error {
	pts := 2 * (at - p.began)
	if p.opened && !chosen {
		pts++
	}
	p.opened = true
	p.mu.Lock()
	if len(p.awaited) == 0 {
		p.stalled.Reset(p.decoder.options.Stall)
	}
	if chosen {
		p.awaited = append(p.awaited, awaited{pts, f.Time, f.At})
	}
	p.writing = true
	p.mu.Unlock()
	p.buffer = binary.LittleEndian.AppendUint32(p.buffer, uint32(len(f.Data))) //nolint:gosec // a picture has 4 MiB at most
	p.buffer = binary.LittleEndian.AppendUint64(p.buffer, uint64(pts))         //nolint:gosec // the format has 64 bits
	p.buffer = append(p.buffer, f.Data...)
	_, err := p.pipe.Write(p.buffer)
	p.buffer = p.buffer[:0]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = false
	if len(p.awaited) == 0 {
		p.stalled.Stop()
	}
	return err
}

// stop kills ffmpeg and waits for its end. It returns the number of its samples, and the error
// of an ffmpeg that had ended by itself or hung.
func (p *process) stop() (samples int, failure error) {
	byItself := p.hasEnded() || p.ctx.Err() != nil
	p.cancel(nil)
	<-p.ended
	p.stalled.Stop()
	if byItself {
		failure = p.err
	}
	return p.samples, failure
}

// read passes on the samples until ffmpeg ends, then asks for a keyframe to go on with.
func (p *process) read(times *os.File) {
	images, lines := bufio.NewReaderSize(p.pipe, 64<<10), bufio.NewReaderSize(times, 256)
	var err error
	for err == nil {
		err = p.sample(images, lines)
	}
	stopped, cause := p.ctx.Err() != nil, context.Cause(p.ctx)
	// It may have broken its output and still run.
	kill := time.AfterFunc(exitWait, func() { p.cancel(err) })
	exit := p.pipe.Close()
	kill.Stop()
	p.cancel(nil)
	_ = times.Close()
	switch {
	case stopped:
		p.err = cause
	case exit != nil:
		p.err = exit
	default:
		p.err = err
	}
	close(p.ended)
	if !stopped || errors.Is(p.err, errStalled) {
		p.decoder.options.Keyframe()
	}
}

// sample reads one sample.
func (p *process) sample(images, lines *bufio.Reader) error {
	jpeg, err := readPart(images)
	if err != nil {
		return err
	}
	// The filter wrote the time before the encoder received the picture.
	pts, err := readTime(lines)
	if err != nil {
		return err
	}
	s := Sample{Width: p.first.Width, Height: p.first.Height, JPEG: jpeg}
	if p.first.Rotation%180 != 0 {
		s.Width, s.Height = s.Height, s.Width
	}
	chosen := false
	p.mu.Lock()
	p.samples++
	for _, a := range p.awaited {
		if a.pts == pts {
			s.Time, s.At, chosen = a.time, a.at, true
		}
	}
	// Pictures come in the order of their times, so earlier ones do not come any more.
	p.awaited = slices.DeleteFunc(p.awaited, func(a awaited) bool { return a.pts <= pts })
	if len(p.awaited) > 0 || p.writing {
		p.stalled.Reset(p.decoder.options.Stall)
	} else {
		p.stalled.Stop()
	}
	p.mu.Unlock()
	if chosen {
		p.decoder.offer(s)
	}
	return nil
}
