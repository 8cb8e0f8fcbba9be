package record_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/pion/rtp/codecs"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
	"vqa/streaming/record"
)

const (
	waitTime = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// noise returns pictures of random bytes, a keyframe first and then every 10.
func noise(n, size int) []assemble.Picture {
	random := rand.New(rand.NewPCG(1, 2))
	pictures := make([]assemble.Picture, n)
	for i := range pictures {
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		pictures[i] = assemble.Picture{
			Codec: assemble.H264, Key: i%10 == 0, Time: int64(i) * 3000, Data: data, At: epoch.Add(time.Duration(i) * time.Second / 30),
		}
	}
	return pictures
}

// requireStored compares the stored parts with the pictures.
func requireStored(t testing.TB, s *session, pictures []assemble.Picture) {
	t.Helper()
	var want, got []byte
	for _, p := range pictures {
		want = append(want, p.Data...)
	}
	for i, p := range s.told() {
		require.Equal(t, i+1, p.Number)
		got = append(got, s.bucket.content(t, p.Key)...)
	}
	require.True(t, bytes.Equal(want, got), "%d bytes instead of %d", len(got), len(want))
}

func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options record.Options
		size    int
		frames  int64 // of each part but the last
	}{
		"by time":              {record.Options{PartTime: time.Second}, 100, 30},
		"by size":              {record.Options{PartBytes: 1000}, 100, 10},
		"by memory":            {record.Options{MaxBytes: 60_000}, 10_000, 3},
		"pictures over a part": {record.Options{PartBytes: 50}, 100, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, newBucket(t), test.options)
			pictures := noise(100, test.size)
			for i, p := range pictures {
				s.Push(p)
				// Memory is free again when a part is stored.
				require.Eventually(t, func() bool { return int64(len(s.told())) >= int64(i)/test.frames }, waitTime, tick)
			}
			require.NoError(t, s.Close(t.Context()))
			requireStored(t, s, pictures)
			parts := s.told()
			for _, p := range parts[:len(parts)-1] {
				require.Equal(t, test.frames, p.Frames)
				require.Equal(t, test.frames*int64(test.size), p.SizeBytes)
				require.InDelta(t, test.frames*100/3, p.DurationMillis, 1)
			}
		})
	}
}

func TestHugePictures(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	pictures := noise(5, 4<<20)
	for i, p := range pictures {
		s.Push(p)
		require.Eventually(t, func() bool { return len(s.told()) >= i/2 }, waitTime, tick)
	}
	require.NoError(t, s.Close(t.Context()))
	requireStored(t, s, pictures)
	require.Len(t, s.told(), 3)
}

func TestARecordingStartsWithAKeyframe(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	pictures := noise(25, 10)
	for _, p := range pictures[3:] {
		s.Push(p)
	}
	require.NoError(t, s.Close(t.Context()))
	requireStored(t, s, pictures[10:])
	s.Push(pictures[0])
	require.NoError(t, s.Close(t.Context()), "again")
	require.Len(t, s.told(), 1)
	require.Empty(t, s.failures())
}

func TestARecordingWithoutPicturesHasNoParts(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	require.NoError(t, s.Close(t.Context()))
	require.Empty(t, s.told())
}

func TestAPauseDoesNotHoldBackAPart(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{PartTime: 20 * time.Millisecond, Now: func() time.Time { return epoch.Add(time.Hour) }})
	p := noise(1, 10)
	s.Push(p[0])
	require.Eventually(t, func() bool { return len(s.told()) == 1 }, waitTime, tick)
	requireStored(t, s, p)
	require.EqualValues(t, 33, s.told()[0].DurationMillis)
}

func TestAStoreThatFailsForSomeTimeLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	calls := map[string]int{} // for one goroutine
	b.fail(func(_ context.Context, verb, key string) error {
		if calls[verb+key]++; calls[verb+key] == 1 {
			return errAway
		}
		return nil
	})
	s := newSession(t, b, record.Options{PartBytes: 20_000})
	pictures := noise(30, 1000)
	for _, p := range pictures {
		s.Push(p)
	}
	require.NoError(t, s.Close(t.Context()))
	requireStored(t, s, pictures)
	require.Len(t, calls, 4, "two parts, each with its index")
	for call, n := range calls {
		require.Equal(t, 2, n, call)
	}
}

func TestAStoreThatStaysAwayFailsTheRecording(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.fail(func(context.Context, string, string) error { return errAway })
	s := newSession(t, b, record.Options{PartBytes: 1000, Patience: 300 * time.Millisecond})
	pictures := noise(30, 100)
	for _, p := range pictures {
		s.Push(p)
	}
	require.Eventually(t, func() bool { return len(s.failures()) == 1 }, waitTime, tick)
	require.ErrorIs(t, s.Err(), errAway)
	b.fail(func(context.Context, string, string) error { return nil })
	for _, p := range pictures { // the stream goes on
		s.Push(p)
	}
	require.ErrorIs(t, s.Close(t.Context()), errAway)
	require.Empty(t, s.told())
	require.Len(t, s.failures(), 1)
}

func TestAStoreThatHangsBlocksNothingAndTakesNoMoreMemory(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.fail(func(ctx context.Context, _, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	})
	s := newSession(t, b, record.Options{PartBytes: 1000, MaxBytes: 5000})
	for _, p := range noise(50, 100) {
		require.NoError(t, s.Err())
		s.Push(p)
	}
	require.NoError(t, s.Err())
	s.Push(noise(1, 1)[0])
	require.ErrorIs(t, s.Err(), record.ErrFull)
	require.ErrorIs(t, s.Close(t.Context()), record.ErrFull)
	require.Len(t, s.failures(), 1)
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.fail(func(ctx context.Context, _, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	})
	s := newSession(t, b, record.Options{})
	s.Push(noise(1, 1)[0])
	cause := errors.New("the node stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.ErrorIs(t, s.Close(ctx), cause)
	require.Len(t, s.failures(), 1)
}

func TestOnlyH264IsRecorded(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	p := noise(1, 1)[0]
	p.Codec = assemble.VP8
	s.Push(p)
	require.ErrorContains(t, s.Close(t.Context()), "only H.264")
}

// TestRecordsWhatAnAssemblerDelivers sends pictures of a real encoder as packets, loses some, and
// records the others.
func TestRecordsWhatAnAssemblerDelivers(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	var delivered []assemble.Picture
	a := assemble.New(assemble.H264, func(p assemble.Picture) {
		delivered = append(delivered, p)
		s.Push(p)
	})
	a.WithoutRepair()
	random := rand.New(rand.NewPCG(3, 4))
	e := assembletest.New(assemble.H264, random)
	payloader := &codecs.H264Payloader{}
	c := encode(t, 160, 96, 90, 0)
	at := epoch
	for i, data := range c.pictures {
		payloads := payloader.Payload(200, data)
		for j, payload := range payloads {
			p := e.Packet(payload, j == len(payloads)-1)
			at = at.Add(time.Millisecond)
			if i == 0 || random.IntN(60) > 0 {
				a.Push(&p.Header, p.Payload, at)
			}
			a.Feedback(at)
		}
		e.Time += 3000
		at = epoch.Add(time.Duration(i+1) * time.Second / 30)
	}
	require.NoError(t, s.Close(t.Context()))
	require.Less(t, len(delivered), 90)
	require.Greater(t, len(delivered), 15)
	require.NoError(t, s.finish(t))
	requireFinished(t, s, delivered)
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		s := newSession(t, newBucket(t), record.Options{})
		s.Push(noise(1, 1)[0])
		require.NoError(t, s.Close(t.Context()))
	}
	for end := time.Now().Add(waitTime); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(tick)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}
