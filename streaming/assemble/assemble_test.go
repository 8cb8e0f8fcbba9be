package assemble_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
)

var allCodecs = []assemble.Codec{assemble.H264, assemble.VP8, assemble.VP9}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// receiver is an assembler with the frames that it delivered.
type receiver struct {
	*assemble.Assembler
	frames []assemble.Picture
}

func newReceiver(codec assemble.Codec) *receiver {
	r := &receiver{}
	r.Assembler = assemble.New(codec, func(f assemble.Picture) { r.frames = append(r.frames, f) })
	return r
}

func (r *receiver) push(at time.Time, packets ...*rtp.Packet) {
	for _, p := range packets {
		r.Push(&p.Header, p.Payload, at)
	}
}

// got describes the delivered pictures.
func (r *receiver) got() []string {
	var all [][]byte
	for _, f := range r.frames {
		all = append(all, f.Data)
	}
	return described(all...)
}

// described returns a short text that identifies each picture.
func described(pictures ...[]byte) []string {
	all := []string{}
	for _, p := range pictures {
		all = append(all, fmt.Sprintf("%d bytes, %x", len(p), sha256.Sum256(p)))
	}
	return all
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// eachCodec runs a test with a sender of each codec.
func eachCodec(t *testing.T, test func(t *testing.T, s *assembletest.Encoder, r *receiver)) {
	for _, codec := range allCodecs {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			test(t, assembletest.New(codec, newRandom(7)), newReceiver(codec))
		})
	}
}

func TestPicturesInOrder(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		s.Seq, s.Time = 65500, 1<<32-10*3000 // both wrap around
		var want [][]byte
		for i := range 100 {
			picture := s.Encode(i%30 == 0)
			want = append(want, picture)
			r.push(start.Add(time.Duration(i)*time.Second/30), s.Packets(picture)...)
		}
		require.Equal(t, described(want...), r.got())
		for i, f := range r.frames {
			require.Equal(t, assemble.Picture{
				Codec: s.Codec, Key: i%30 == 0, Time: int64(i) * 3000, Width: 640, Height: 360,
				Data: want[i], At: start.Add(time.Duration(i) * time.Second / 30),
			}, f)
		}
		require.True(t, r.Due().IsZero() || r.Feedback(r.Due()).Missing == nil, "nothing is missing")
	})
}

func TestAPictureWithAGapIsDroppedUntilTheNextKeyframe(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		first, broken, after, key, last := s.Encode(true), s.Encode(false), s.Encode(false), s.Encode(true), s.Encode(false)
		now := start
		r.push(now, s.Packets(first)...)
		r.push(now, s.Packets(broken)[1:]...)
		r.push(now, s.Packets(after)...)
		require.Equal(t, described(first), r.got(), "pictures wait for the missing packet")
		keyframes := 0
		for ; r.Counts().Lost == 0; now = r.Due() {
			require.False(t, r.Due().IsZero())
			if r.Feedback(now).Keyframe {
				keyframes++
			}
		}
		require.Equal(t, described(first), r.got(), "pictures that refer to the missing one are damaged")
		for range 3 {
			if r.Feedback(now).Keyframe {
				keyframes++
			}
			now = r.Due()
		}
		require.Positive(t, keyframes, "a keyframe is requested")
		r.push(now, s.Packets(key)...)
		r.push(now, s.Packets(last)...)
		require.Equal(t, described(first, key, last), r.got())
	})
}

func TestARepairedPictureIsDelivered(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		first, second, third := s.Encode(true), s.Encode(false), s.Encode(false)
		r.push(start, s.Packets(first)...)
		lost := s.Packets(second)
		again := s.Packets(third)
		r.push(start, again...)
		r.push(start, again...)
		require.Equal(t, int64(len(again)), r.Counts().Late)
		require.Empty(t, r.Feedback(start.Add(9*time.Millisecond)).Missing, "the packet may be late")
		want := []uint16{}
		for _, p := range lost {
			want = append(want, p.SequenceNumber)
		}
		require.Equal(t, want, r.Feedback(start.Add(10*time.Millisecond)).Missing)
		require.Empty(t, r.Feedback(start.Add(39*time.Millisecond)).Missing, "the answer takes a round trip")
		require.Equal(t, want, r.Feedback(start.Add(40*time.Millisecond)).Missing)
		r.push(start.Add(50*time.Millisecond), lost...)
		require.Equal(t, described(first, second, third), r.got())
		require.Empty(t, r.Feedback(start.Add(time.Minute)).Missing)
	})
}

func TestRequestsOfAPacketAreLimited(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		r.SetRoundTrip(100 * time.Millisecond)
		r.push(start, s.Packets(s.Encode(true))...)
		r.push(start, s.Packets(s.Encode(false))[1:]...)
		requests := 0
		for now := start; r.Counts().Lost == 0; now = now.Add(time.Millisecond) {
			requests += len(r.Feedback(now).Missing)
			require.Less(t, now.Sub(start), 1020*time.Millisecond, "given up one round trip after the last request")
		}
		require.Equal(t, 10, requests)
	})
}

// TestALongRoundTrip has a sender that claims to be very far away. Packets behind a gap do not wait for long.
func TestALongRoundTrip(t *testing.T) {
	t.Parallel()
	s, r := assembletest.New(assemble.H264, newRandom(1)), newReceiver(assemble.H264)
	r.SetRoundTrip(time.Hour)
	r.push(start, s.Packets(s.Encode(true))...)
	r.push(start, s.Packets(s.Encode(false))[1:]...)
	now := start
	for ; r.Counts().Lost == 0; now = r.Due() {
		r.Feedback(now)
	}
	require.Less(t, now.Sub(start), 11*time.Second)
}

// TestRequestsAfterAChangeOfTheRoundTrip has a later gap that is due more often than the first.
func TestRequestsAfterAChangeOfTheRoundTrip(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		r.SetRoundTrip(time.Minute)
		r.push(start, s.Packets(s.Encode(true))...)
		s.Seq++
		r.push(start, s.Packets(s.Encode(false))...)
		require.Len(t, r.Feedback(start.Add(time.Second)).Missing, 1)
		r.SetRoundTrip(30 * time.Millisecond)
		later := s.Seq
		s.Seq++
		r.push(start.Add(time.Second), s.Packets(s.Encode(false))...)
		requests := 0
		for now := start.Add(time.Second); now.Before(start.Add(1900 * time.Millisecond)); now = now.Add(10 * time.Millisecond) {
			for _, seq := range r.Feedback(now).Missing {
				require.Equal(t, later, seq)
				requests++
			}
		}
		require.Equal(t, 10, requests)
	})
}

// TestKeyframeRequestsBackOff counts the requests to a sender that never answers.
func TestKeyframeRequestsBackOff(t *testing.T) {
	t.Parallel()
	s, r := assembletest.New(assemble.H264, newRandom(1)), newReceiver(assemble.H264)
	var times []time.Duration
	for now := start; now.Before(start.Add(20 * time.Second)); now = now.Add(10 * time.Millisecond) {
		r.push(now, s.Packets(s.Encode(false))...)
		if r.Feedback(now).Keyframe {
			times = append(times, now.Sub(start).Round(100*time.Millisecond))
		}
	}
	require.Equal(t, []time.Duration{
		0, 300 * time.Millisecond, 900 * time.Millisecond, 2100 * time.Millisecond,
		4500 * time.Millisecond, 9300 * time.Millisecond, 14300 * time.Millisecond, 19300 * time.Millisecond,
	}, times)
}

// TestAKeyframeEndsTheWait sends a keyframe while an earlier gap is still open.
func TestAKeyframeEndsTheWait(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		r.push(start, s.Packets(s.Encode(false))...) // the stream begins without a keyframe
		s.Packets(s.Encode(false))                   // lost
		key := s.Encode(true)
		r.push(start, s.Packets(key)...)
		require.Equal(t, described(key), r.got())
		require.Empty(t, r.Feedback(start.Add(time.Second)).Missing, "the packets before it are obsolete")
	})
}

func TestPadding(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		first, second := s.Encode(true), s.Encode(false)
		r.push(start, s.Packets(first)...)
		r.push(start, s.Packet(nil, false), s.Packet(nil, true))
		r.push(start, s.Packets(second)...)
		require.Equal(t, described(first, second), r.got())
	})
}

// TestNoMarkers ends each picture at the next time.
func TestNoMarkers(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		pictures := [][]byte{s.Encode(true), s.Encode(false), s.Encode(false)}
		for _, p := range pictures {
			for _, packet := range s.Packets(p) {
				packet.Marker = false
				r.push(start, packet)
			}
		}
		require.Equal(t, described(pictures[:2]...), r.got())
	})
}

// TestParameterSetsAreRepeated sends them once, before the first picture, as some encoders do.
func TestParameterSetsAreRepeated(t *testing.T) {
	t.Parallel()
	s, r := assembletest.New(assemble.H264, newRandom(1)), newReceiver(assemble.H264)
	sets, pps := assembletest.SPS(1280, 720), []byte{0x68, 1, 2, 3}
	idr, slice := append([]byte{0x65}, s.Noise(3000)...), append([]byte{0x41}, s.Noise(100)...)
	r.push(start, s.Packet(sets, false), s.Packet(pps, true))
	s.Time += 3000
	for _, unit := range [][]byte{idr, slice, idr} {
		r.push(start, s.Packets(assembletest.AnnexB(unit))...)
	}
	require.Equal(t, described(assembletest.AnnexB(sets, pps, idr), assembletest.AnnexB(slice), assembletest.AnnexB(sets, pps, idr)), r.got())
	require.Equal(t, 1280, r.frames[0].Width)
	require.Equal(t, 720, r.frames[0].Height)
}

func TestAChangeOfSize(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		for _, size := range [][2]uint16{{320, 180}, {640, 360}, {1918, 1078}} {
			s.Width, s.Height = size[0], size[1]
			r.push(start, s.Packets(s.Encode(true))...)
			r.push(start, s.Packets(s.Encode(false))...)
		}
		var sizes []string
		for _, f := range r.frames {
			sizes = append(sizes, fmt.Sprintf("%dx%d", f.Width, f.Height))
		}
		require.Equal(t, []string{"320x180", "320x180", "640x360", "640x360", "1918x1078", "1918x1078"}, sizes)
	})
}

// TestMemoryIsBounded keeps a gap open while packets arrive.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		r.push(start, s.Packets(s.Encode(true))...)
		s.Seq++
		payload := s.Packets(s.Encode(false))[0].Payload
		for range 5000 {
			r.push(start, s.Packet(payload, true))
			pending, missing := r.Held()
			require.LessOrEqual(t, pending, 1024)
			require.LessOrEqual(t, missing, 1024)
			s.Seq += uint16(s.Random.IntN(3))
		}
		// One picture without end is bounded too.
		s.Seq += 2000
		key := s.Packets(s.Encode(true))
		r.push(start, key[0])
		for range 10000 {
			r.push(start, s.Packet(bytes.Repeat([]byte{0x41}, 1200), false))
		}
		require.LessOrEqual(t, r.PictureBytes(), 4<<20)
	})
}

func TestMalformedPicturesAreDropped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		codec    assemble.Codec
		payloads [][]byte
	}{
		"fragment without its start": {assemble.H264, [][]byte{{0x7c, 0x05, 1, 2}}},
		"fragment without its end":   {assemble.H264, [][]byte{{0x7c, 0x81, 1, 2}}},
		"end without a start":        {assemble.H264, [][]byte{{0x7c, 0x41, 1, 2}}},
		"start within a fragment":    {assemble.H264, [][]byte{{0x7c, 0x81, 1, 2}, {0x7c, 0x81, 1, 2}, {0x7c, 0x41, 1, 2}}},
		"fragment of all":            {assemble.H264, [][]byte{{0x7c, 0xc1, 1, 2}}},
		"unit within a fragment":     {assemble.H264, [][]byte{{0x7c, 0x81, 1, 2}, {0x41, 1, 2}}},
		"aggregate cut off":          {assemble.H264, [][]byte{{0x78, 0, 9, 1}}},
		"empty aggregate":            {assemble.H264, [][]byte{{0x78}}},
		"empty unit in an aggregate": {assemble.H264, [][]byte{{0x78, 0, 0}}},
		"interleaved mode":           {assemble.H264, [][]byte{{0x79, 0, 0, 0, 1, 0x41}}},
		"reserved type":              {assemble.H264, [][]byte{{0x5f, 1}}},
		"marked as damaged":          {assemble.H264, [][]byte{{0xc1, 1, 2}}},
		"VP8 without its start":      {assemble.VP8, [][]byte{{0x00, 0x11, 1}}},
		"VP8 with two starts":        {assemble.VP8, [][]byte{{0x10, 0x11, 1}, {0x10, 0x11, 1}}},
		"VP9 without its start":      {assemble.VP9, [][]byte{{0x04, 0x86, 1}}},
		"VP9 with two starts":        {assemble.VP9, [][]byte{{0x08, 0x86, 1}, {0x0c, 0x86, 1}}},
		"parameter set without size": {assemble.H264, [][]byte{{0x67, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := assembletest.New(tt.codec, newRandom(1)), newReceiver(tt.codec)
			key, later := s.Encode(true), s.Encode(true)
			r.push(start, s.Packets(key)...)
			for i, p := range tt.payloads {
				r.push(start, s.Packet(p, i == len(tt.payloads)-1))
			}
			s.Time += 3000
			r.push(start, s.Packets(s.Encode(false))...)
			require.Equal(t, described(key), r.got())
			require.True(t, r.Feedback(start.Add(time.Second)).Keyframe)
			r.push(start, s.Packets(later)...)
			require.Equal(t, described(key, later), r.got())
		})
	}
}

// TestRefresh asks for a keyframe while pictures arrive.
func TestRefresh(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, s *assembletest.Encoder, r *receiver) {
		first, second, key := s.Encode(true), s.Encode(false), s.Encode(true)
		r.push(start, s.Packets(first)...)
		require.False(t, r.Feedback(start.Add(time.Minute)).Keyframe)
		r.Refresh(start.Add(time.Minute))
		r.push(start, s.Packets(second)...)
		require.True(t, r.Feedback(start.Add(time.Minute)).Keyframe)
		require.True(t, r.Feedback(r.Due()).Keyframe, "the request may be lost")
		r.push(start, s.Packets(key)...)
		require.False(t, r.Feedback(start.Add(time.Hour)).Keyframe)
		require.Equal(t, described(first, second, key), r.got())
	})
}
