package wire_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/wire"
)

// line is a connection in the virtual time of synctest. A read or a write takes the time every
// and moves at most step bytes, unless its deadline is earlier.
type line struct {
	http.ResponseWriter
	every       time.Duration
	step        int
	left        int64
	read, write time.Time
}

func (l *line) SetReadDeadline(t time.Time) error  { l.read = t; return nil }
func (l *line) SetWriteDeadline(t time.Time) error { l.write = t; return nil }

// wait waits for the time of one step.
func (l *line) wait(deadline time.Time) error {
	if !deadline.IsZero() && time.Until(deadline) < l.every {
		time.Sleep(time.Until(deadline))
		return os.ErrDeadlineExceeded
	}
	time.Sleep(l.every)
	return nil
}

func (l *line) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	if err := l.wait(l.read); err != nil {
		return 0, err
	}
	n := int(min(l.left, int64(l.step), int64(len(p))))
	l.left -= int64(n)
	return n, nil
}

func (l *line) Write(p []byte) (int, error) {
	return len(p), l.wait(l.write)
}

func (l *line) Close() error { return nil }

// drain reads to the end with a large buffer.
func drain(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 2<<20))
}

// minute is the pace of uploads.
var minute = wire.Pace{Patience: time.Minute, Rate: 16 << 10}

// TestTheLargestUploadMayBeSlow: 2 GiB at 16 KiB per second take 36 hours.
func TestTheLargestUploadMayBeSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{every: 2 * time.Second, step: 32 << 10, left: 2 << 30}
		begin := time.Now()
		n, err := drain(minute.Body(l, l))
		require.NoError(t, err)
		require.EqualValues(t, 2<<30, n)
		require.Equal(t, 131_072*time.Second, time.Since(begin))
		require.Zero(t, l.read, "the deadline is removed")
	})
}

// TestAnUploadMayPause: later bytes give back the waiting time of a minute of silence.
func TestAnUploadMayPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{every: 50 * time.Second, step: 1 << 20, left: 10 << 20}
		_, err := drain(minute.Body(l, l))
		require.NoError(t, err)
	})
}

func TestSlowBodiesAreCutOff(t *testing.T) {
	t.Parallel()
	whole := wire.Pace{Patience: 10 * time.Second, Rate: 16 << 10, Total: 30 * time.Second}
	for name, tt := range map[string]struct {
		pace  wire.Pace
		line  line
		after time.Duration
	}{
		"no byte arrives":               {minute, line{every: time.Hour, left: 1}, time.Minute},
		"a byte each second":            {minute, line{every: time.Second, step: 1, left: 1 << 20}, time.Minute},
		"a byte each 59 s":              {minute, line{every: 59 * time.Second, step: 1, left: 1 << 20}, time.Minute},
		"half the rate":                 {minute, line{every: time.Second, step: 8 << 10, left: 1 << 30}, 2 * time.Minute},
		"a JSON body that stalls":       {whole, line{every: time.Hour, left: 1}, 10 * time.Second},
		"a JSON body that takes long":   {whole, line{every: time.Second, step: 16 << 10, left: 1 << 20}, 30 * time.Second},
		"a JSON body that drips slowly": {whole, line{every: time.Second, step: 1, left: 100}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := drain(tt.pace.Body(&tt.line, &tt.line))
				require.ErrorIs(t, err, wire.ErrSlow)
				require.WithinDuration(t, begin.Add(tt.after), time.Now(), 2*time.Second)
			})
		})
	}
}

// TestAnUnreadBodyHasADeadline: net/http reads the rest of it after the handler.
func TestAnUnreadBodyHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		minute.Body(l, l)
		require.Equal(t, time.Now().Add(time.Minute), l.read)
	})
}

// TestOnlyWaitingCounts: the time in which the service works does not count.
func TestOnlyWaitingCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{every: time.Millisecond, step: 1, left: 10}
		body := minute.Body(l, l)
		for range 10 {
			_, err := body.Read(make([]byte, 1))
			require.NoError(t, err)
			time.Sleep(time.Hour)
		}
	})
}

func TestSlowReadersAreCutOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		every time.Duration
		size  int
		slow  bool
	}{
		"at the rate":      {2 * time.Second, 32 << 10, false},
		"half the rate":    {4 * time.Second, 32 << 10, true},
		"1 MiB at a time":  {60 * time.Second, 1 << 20, false},
		"a page, and slow": {time.Minute, 4 << 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &line{every: tt.every, write: time.Now().Add(-time.Hour)}
				w := minute.Writer(l)
				require.Zero(t, l.write, "the deadline of the earlier response is cleared")
				var err error
				for i := 0; i < 100 && err == nil; i++ {
					_, err = w.Write(make([]byte, tt.size))
				}
				require.Equal(t, tt.slow, errors.Is(err, wire.ErrSlow), "%v", err)
				w.Finish()
				require.False(t, l.write.IsZero(), "the rest has a deadline")
			})
		})
	}
}
