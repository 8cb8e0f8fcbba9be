package decode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/decode"
)

// TestNoDamageReachesTheEngine sends real pictures in packets, loses some, and compares each sample
// with the one of a stream without loss, byte for byte.
func TestNoDamageReachesTheEngine(t *testing.T) {
	t.Parallel()
	frames := encodeDrawn(t, assemble.H264, 640, 360, 0, 240, textured)
	var payloader codecs.H264Payloader
	var packets []rtp.Packet
	for _, f := range frames {
		payloads := payloader.Payload(1200, f.Data)
		for i, p := range payloads {
			packets = append(packets, rtp.Packet{
				Header:  rtp.Header{SequenceNumber: uint16(len(packets)), Timestamp: uint32(f.Time), Marker: i == len(payloads)-1},
				Payload: p,
			})
		}
	}
	// samples returns the samples after loss, by their times, and the number of lost packets.
	samples := func(t *testing.T, percent int) (all map[int64]string, lost int) {
		l, random := newLab(t, decode.Options{FPS: 30}), rand.New(rand.NewPCG(1, uint64(percent)))
		all = map[int64]string{}
		a := assemble.New(assemble.H264, func(p assemble.Picture) {
			l.Push(p)
			s := l.next(t)
			all[s.Time] = string(s.JPEG)
		})
		a.WithoutRepair()
		for i, p := range packets {
			now := arrival.Add(time.Duration(p.Timestamp)*time.Second/assemble.ClockRate + time.Duration(i)*time.Microsecond)
			// The first keyframe arrives, so that the times agree.
			if i >= 60 && random.IntN(100) < percent {
				lost++
			} else {
				a.Push(&p.Header, p.Payload, now)
			}
			a.Feedback(now)
		}
		return all, lost
	}
	want, _ := samples(t, 0)
	require.Equal(t, len(frames), len(want))
	for _, percent := range []int{2, 10, 30} {
		t.Run(fmt.Sprint(percent, " %"), func(t *testing.T) {
			t.Parallel()
			got, lost := samples(t, percent)
			require.Positive(t, lost)
			require.NotEmpty(t, got)
			compared := 0
			for at, jpeg := range got {
				if reference, ok := want[at]; ok {
					compared++
					require.True(t, jpeg == reference, "the picture at %d ticks is damaged", at)
				}
			}
			t.Logf("%d of %d packets lost, %d samples compared", lost, len(packets), compared)
			require.Positive(t, compared)
		})
	}
}
