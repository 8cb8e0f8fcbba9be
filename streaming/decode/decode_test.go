package decode_test

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/assemble"
	"vqa/streaming/decode"
)

// patience bounds the wait for anything, on a slow machine.
const patience = 30 * time.Second

// lab is a decoder with the processes that it started.
type lab struct {
	*decode.Decoder
	keyframes atomic.Int64 // requests

	mu   sync.Mutex
	pids []int
}

func newLab(t testing.TB, o decode.Options) *lab {
	t.Helper()
	l := &lab{}
	runner := ffmpegtest.Runner(t).Observed(func(pid int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pids = append(l.pids, pid)
	})
	l.Decoder = l.start(t, runner, o)
	return l
}

func (l *lab) start(t testing.TB, f decode.FFmpeg, o decode.Options) *decode.Decoder {
	o.Keyframe = func() { l.keyframes.Add(1) }
	d := decode.New(f, o)
	t.Cleanup(d.Close)
	return d
}

var _ decode.FFmpeg = (*ffmpeg.Runner)(nil)

// pid returns the process id of the newest ffmpeg.
func (l *lab) pid() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pids[len(l.pids)-1]
}

// push passes pictures on and waits for the sample of the last one, which must be the first of its
// slot. It returns the samples that were read.
func (l *lab) push(t *testing.T, frames []assemble.Picture) []decode.Sample {
	t.Helper()
	for _, f := range frames {
		l.Push(f)
	}
	var all []decode.Sample
	for len(all) == 0 || all[len(all)-1].Time != frames[len(frames)-1].Time {
		all = append(all, l.next(t))
	}
	return all
}

func (l *lab) next(t *testing.T) decode.Sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := l.Next(ctx)
	require.NoError(t, err, "%+v", l.Counts())
	return s
}

// check compares samples with the pictures that they must show.
func check(t *testing.T, samples []decode.Sample, width, height int) {
	t.Helper()
	last := int64(-1)
	for _, s := range samples {
		n, w, h := number(t, s.JPEG)
		require.Equal(t, s.Time, int64(n)*ticks, "the time belongs to the picture")
		require.Equal(t, []int{width, height}, []int{w, h})
		require.Greater(t, s.Time, last)
		last = s.Time
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	for _, codec := range []assemble.Codec{assemble.H264, assemble.VP8, assemble.VP9} {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, decode.Options{})
			frames := encode(t, codec, 640, 360, 0, 43)
			samples := l.push(t, frames)
			check(t, samples, 640, 360)
			for _, s := range samples {
				require.Zero(t, s.Time%(6*ticks), "5 samples per second")
				require.Equal(t, frames[s.Time/ticks].At, s.At)
				require.Equal(t, []int{640, 360}, []int{s.Width, s.Height})
			}
			c := l.Counts()
			require.Equal(t, int64(8), c.Samples)
			require.Equal(t, int64(8-len(samples)), c.Replaced)
			require.Equal(t, decode.Counts{Starts: 1, Samples: c.Samples, Replaced: c.Replaced}, c)
			require.Zero(t, l.keyframes.Load())
		})
	}
}

// TestTheEncoderBeginsAgain sends a new track: its times begin at 0 again, also in the middle of the slot of a sample.
func TestTheEncoderBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, codec := range []assemble.Codec{assemble.H264, assemble.VP8} {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, decode.Options{})
			check(t, l.push(t, encode(t, codec, 320, 180, 0, 61)), 320, 180)
			want := int64(11)
			for round := range 3 {
				again := encode(t, codec, 320, 180, 0, 33)
				for i, f := range again {
					f.At = f.At.Add(time.Duration(62+40*round) * time.Second / 30)
					again[i] = f
					l.Push(f)
				}
				want += 5
				require.Eventually(t, func() bool { return l.Counts().Samples >= want }, patience, time.Millisecond)
				check(t, []decode.Sample{l.next(t)}, 320, 180)
			}
			require.Equal(t, 1, l.Counts().Starts)
			require.InDelta(t, want, l.Counts().Samples, 3)
			require.Zero(t, l.keyframes.Load())
		})
	}
}

// TestTimesBuyNoDecoding sends a picture for each second of its times, 30 in a second.
func TestTimesBuyNoDecoding(t *testing.T) {
	t.Parallel()
	l := newLab(t, decode.Options{})
	for _, f := range encode(t, assemble.H264, 320, 180, 0, 61) {
		f.Time *= 30
		l.Push(f)
	}
	require.Eventually(t, func() bool { return l.Counts().Samples >= 10 }, patience, time.Millisecond)
	s := l.next(t)
	n, _, _ := number(t, s.JPEG)
	require.Equal(t, int64(n)*ticks*30, s.Time)
	l.Close()
	require.LessOrEqual(t, l.Counts().Samples, int64(11))
}

// TestTheEngineGetsTheNewest reads nothing while samples are made.
func TestTheEngineGetsTheNewest(t *testing.T) {
	t.Parallel()
	l := newLab(t, decode.Options{FPS: 30})
	frames := encode(t, assemble.H264, 320, 180, 0, 40)
	for _, f := range frames {
		l.Push(f)
	}
	require.Eventually(t, func() bool { return l.Counts().Samples == 40 }, patience, time.Millisecond)
	check(t, []decode.Sample{l.next(t)}, 320, 180)
	require.Equal(t, int64(39), l.Counts().Replaced)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Next(ctx)
	require.ErrorIs(t, err, context.Canceled, "each sample is read once")
}

func TestAChangeOfSize(t *testing.T) {
	t.Parallel()
	for _, codec := range []assemble.Codec{assemble.H264, assemble.VP8} {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, decode.Options{})
			check(t, l.push(t, encode(t, codec, 320, 180, 0, 31)), 320, 180)
			check(t, l.push(t, encode(t, codec, 640, 360, 60, 31)), 640, 360)
			check(t, l.push(t, encode(t, codec, 180, 320, 120, 31)), 180, 320)
			require.Equal(t, 3, l.Counts().Starts)
			require.Zero(t, l.keyframes.Load(), "the keyframe of the new size is enough")
		})
	}
}

// TestTheSizeChangesAllTheTime sends another size with each picture. ffmpeg must not be started for each.
func TestTheSizeChangesAllTheTime(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(int64(time.Hour))
	l := newLab(t, decode.Options{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	sizes := [][]assemble.Picture{encode(t, assemble.VP8, 320, 180, 0, 1), encode(t, assemble.VP8, 640, 360, 0, 1)}
	for i := range 50 {
		l.Push(sizes[i%2][0])
	}
	require.Eventually(t, func() bool { return l.Counts().Dropped >= 45 }, patience, time.Millisecond)
	require.Equal(t, 5, l.Counts().Starts, "the first one and four changes")
	now.Add(int64(time.Second + time.Millisecond))
	check(t, l.push(t, encode(t, assemble.VP8, 640, 360, 60, 31)), 640, 360)
}

// TestFFmpegIsKilled kills ffmpeg in the middle of the stream, again and again.
func TestFFmpegIsKilled(t *testing.T) {
	t.Parallel()
	l := newLab(t, decode.Options{})
	frames := encode(t, assemble.H264, 640, 360, 0, 121)
	check(t, l.push(t, frames[:13]), 640, 360)
	for round := range 3 {
		before := l.keyframes.Load()
		require.NoError(t, syscall.Kill(l.pid(), syscall.SIGKILL))
		require.Eventually(t, func() bool { return l.keyframes.Load() > before }, patience, time.Millisecond, "a keyframe is requested at once")
		from := (round + 1) * 30
		samples := l.push(t, frames[from-5:from+13]) // the first 5 have no decoder
		check(t, samples, 640, 360)
		require.Equal(t, round+2, l.Counts().Starts)
		require.Equal(t, int64(5*(round+1)), l.Counts().Dropped)
	}
	require.Contains(t, l.Counts().LastError, "killed from outside")
}

// TestFFmpegHangs stops ffmpeg, so that it takes nothing and ends nothing.
func TestFFmpegHangs(t *testing.T) {
	t.Parallel()
	l := newLab(t, decode.Options{Stall: 3 * time.Second})
	frames := encode(t, assemble.H264, 640, 360, 0, 61)
	check(t, l.push(t, frames[:13]), 640, 360)
	require.NoError(t, syscall.Kill(l.pid(), syscall.SIGSTOP))
	for _, f := range frames[13:30] {
		l.Push(f)
	}
	require.Eventually(t, func() bool { return l.keyframes.Load() > 0 }, patience, time.Millisecond)
	check(t, l.push(t, frames[30:55]), 640, 360)
	require.Contains(t, l.Counts().LastError, "no progress")
	require.Equal(t, 2, l.Counts().Starts)
}

// TestPicturesThatNoDecoderTakes sends keyframes of noise. ffmpeg must not be started for each.
func TestPicturesThatNoDecoderTakes(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	l := newLab(t, decode.Options{Stall: 3 * time.Second, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	noise := assemble.Picture{Codec: assemble.VP8, Key: true, Width: 640, Height: 360, Data: []byte("no picture at all")}
	failures := func() bool {
		l.Push(noise)
		return l.Counts().LastError != ""
	}
	require.Eventually(t, failures, patience, 10*time.Millisecond)
	starts := l.Counts().Starts
	require.Equal(t, 1, starts)
	for range 50 {
		l.Push(noise)
	}
	require.Eventually(t, func() bool { return l.Counts().Dropped >= 50 }, patience, time.Millisecond)
	require.Equal(t, starts, l.Counts().Starts, "the next start waits")
	now.Add(int64(201 * time.Millisecond))
	check(t, l.push(t, encode(t, assemble.VP8, 640, 360, 0, 31)), 640, 360)
}

// stuck is an ffmpeg that takes nothing.
type stuck struct{}

func (stuck) Stream(ctx context.Context, _, _ []string, _ *os.File, _ time.Duration) (io.ReadWriteCloser, error) {
	return stuckPipe{ctx}, nil
}

type stuckPipe struct{ ctx context.Context }

func (p stuckPipe) wait() (int, error)        { <-p.ctx.Done(); return 0, io.ErrClosedPipe }
func (p stuckPipe) Read([]byte) (int, error)  { return p.wait() }
func (p stuckPipe) Write([]byte) (int, error) { return p.wait() }
func (p stuckPipe) Close() error              { return nil }

// TestPushNeverBlocks has an ffmpeg that takes nothing.
func TestPushNeverBlocks(t *testing.T) {
	t.Parallel()
	l := &lab{}
	l.Decoder = l.start(t, stuck{}, decode.Options{Stall: time.Hour})
	frame := assemble.Picture{Codec: assemble.VP8, Key: true, Width: 640, Height: 360, Data: make([]byte, 1<<20)}
	for i := range 200 {
		frame.Key = i%50 == 0
		l.Push(frame)
		pictures, bytes := l.Held()
		require.LessOrEqual(t, pictures, 64)
		require.LessOrEqual(t, bytes, 8<<20)
	}
	require.Positive(t, l.keyframes.Load())
	require.Greater(t, l.Counts().Dropped, int64(100))

	frame.Key = false
	for pictures := -1; pictures != 0; pictures, _ = l.Held() {
		l.Push(frame)
	}
	l.Push(frame)
	pictures, _ := l.Held()
	require.Zero(t, pictures, "no decoder could use a picture without the ones before")
	frame.Key = true
	l.Push(frame)
	pictures, _ = l.Held()
	require.Equal(t, 1, pictures)
}

var errNoProgram = errors.New("no such program")

// missing is an ffmpeg that cannot be started.
type missing struct{ starts atomic.Int64 }

func (m *missing) Stream(context.Context, []string, []string, *os.File, time.Duration) (io.ReadWriteCloser, error) {
	m.starts.Add(1)
	return nil, errNoProgram
}

// TestStartsBackOff counts the starts of a program that is missing.
func TestStartsBackOff(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	m, l := &missing{}, &lab{}
	l.Decoder = l.start(t, m, decode.Options{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	for i := range int64(200) { // 20 s
		now.Store(i * int64(100*time.Millisecond))
		l.Push(assemble.Picture{Codec: assemble.VP8, Key: true, Width: 2, Height: 2, Data: []byte{1}})
		require.Eventually(t, func() bool { return l.Counts().Dropped == i+1 }, patience, 100*time.Microsecond)
	}
	require.Equal(t, int64(8), m.starts.Load(), "at 0, 0.2, 0.6, 1.4, 3.0, 6.2, 11.2 and 16.2 s")
	require.Contains(t, l.Counts().LastError, errNoProgram.Error())
}

// TestNoProcessIsLeft closes decoders while they work.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	l := newLab(t, decode.Options{})
	for _, f := range encode(t, assemble.H264, 640, 360, 0, 20) {
		l.Push(f)
	}
	l.next(t)
	pid := l.pid()
	require.NoError(t, syscall.Kill(pid, 0))
	waiting := make(chan error)
	go func() {
		for {
			if _, err := l.Next(t.Context()); err != nil {
				waiting <- err
				return
			}
		}
	}()
	l.Close()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	require.ErrorIs(t, <-waiting, decode.ErrClosed)
	l.Push(assemble.Picture{Key: true})
	l.Close()
}
