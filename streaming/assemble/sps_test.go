package assemble_test

import (
	"encoding/hex"
	"testing"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
)

func TestSizeOfPictures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width, height := 2*rapid.IntRange(1, 4096).Draw(t, "width"), 2*rapid.IntRange(1, 4096).Draw(t, "height")
		w, h, _, ok := assemble.ParseSPS(assembletest.SPS(width, height))
		require.True(t, ok)
		require.Equal(t, []int{width, height}, []int{w, h})
	})
}

// TestSizeOfRealStreams parses sets that encoders wrote.
func TestSizeOfRealStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set           string
		width, height int
		light         assemble.Light
	}{
		"x264 baseline":                 {x264Baseline, 640, 360, assemble.Light{}},
		"x264 high, 1080p":              {x264High, 1920, 1080, assemble.Light{}},
		"x264 high 4:4:4, odd size":     {x264High444, 641, 361, assemble.Light{}},
		"x264 high, interlaced, matrix": {x264Interlaced, 720, 576, assemble.Light{}},
		"x264 high, HLG":                {x264HLG, 640, 360, assemble.Light{Transfer: 18, Primaries: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := hex.DecodeString(tt.set)
			require.NoError(t, err)
			w, h, light, ok := assemble.ParseSPS(set)
			require.True(t, ok)
			require.Equal(t, []int{tt.width, tt.height}, []int{w, h})
			require.Equal(t, tt.light, light)
		})
	}
}

// FuzzPush feeds packets of any bytes: two bytes of number and flags, one of length, the payload.
func FuzzPush(f *testing.F) {
	for _, codec := range allCodecs {
		s := assembletest.New(codec, newRandom(1))
		var seed []byte
		for _, key := range []bool{true, false} {
			for _, p := range s.Packets(s.Encode(key)) {
				payload := p.Payload[:min(len(p.Payload), 40)]
				flags := byte(0)
				if p.Marker {
					flags = 1
				}
				seed = append(append(seed, byte(p.SequenceNumber), flags, byte(len(payload))), payload...)
			}
		}
		f.Add(byte(codec), seed)
	}
	f.Add(byte(1), []byte{0, 0, 2, 0x78, 0, 9, 1, 3, 0x7c, 0x85, 1})
	f.Fuzz(func(t *testing.T, codec byte, data []byte) {
		r := newReceiver(allCodecs[int(codec)%len(allCodecs)])
		now, seq := start, uint16(0)
		for len(data) >= 3 {
			seq += uint16(int8(data[0]))
			n := min(int(data[2]), len(data)-3)
			h := rtp.Header{SequenceNumber: seq, Marker: data[1]&1 != 0, Timestamp: uint32(data[1] >> 1)}
			r.Push(&h, data[3:3+n], now)
			data = data[3+n:]
			r.Feedback(now)
			now = now.Add(20_000_000)
		}
		pending, missing := r.Held()
		require.LessOrEqual(t, pending, 1024)
		require.LessOrEqual(t, missing, 1024)
		for i, f := range r.frames {
			require.NotEmpty(t, f.Data)
			require.True(t, i > 0 || f.Key)
			require.Positive(t, f.Width)
		}
	})
}

// FuzzParseSPS looks for sets that fail or take long.
func FuzzParseSPS(f *testing.F) {
	for _, set := range []string{x264Baseline, x264High, x264High444, x264Interlaced, x264HLG} {
		b, err := hex.DecodeString(set)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, set []byte) {
		if len(set) == 0 {
			return
		}
		if w, h, _, ok := assemble.ParseSPS(set); ok {
			require.Positive(t, w)
			require.Positive(t, h)
		}
	})
}

// Sequence parameter sets of libx264 164.
const (
	x264Baseline   = "6742c01ed900a02ff97011000003000100000300320f162e48"
	x264High       = "67640028acd940780227e5c044000003000400000300c83c60c658"
	x264High444    = "67f4001e919b281485fc211180880000030008000003019078b16cb0"
	x264HLG        = "6764001eacd940a02ff97016a1224128000003000800000301e078b16cb0"
	x264Interlaced = "6764001eacd940b424d8088000000300800000190f8a14cb"
)
