package decode_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg"
	"vqa/streaming/assemble"
	"vqa/streaming/decode"
)

// TestSizes decodes pictures of unusual sizes.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		codec         assemble.Codec
		width, height int
		wantW, wantH  int
	}{
		{assemble.VP8, 1, 1, 1, 1}, {assemble.VP9, 1, 1, 1, 1}, {assemble.H264, 2, 2, 2, 2},
		{assemble.VP8, 641, 359, 640, 358}, {assemble.VP9, 641, 359, 640, 358}, {assemble.VP9, 3, 1001, 2, 640},
		{assemble.H264, 66, 1000, 42, 640}, {assemble.H264, 3840, 2160, 640, 360}, {assemble.VP8, 4096, 4096, 640, 640},
	} {
		t.Run(fmt.Sprintf("%s %dx%d", tt.codec, tt.width, tt.height), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, decode.Options{Stall: patience})
			for _, f := range encode(t, tt.codec, tt.width, tt.height, 0, 7) {
				l.Push(f)
			}
			s := l.next(t)
			_, w, h := number(t, s.JPEG)
			require.Equal(t, []int{tt.wantW, tt.wantH}, []int{w, h})
			require.Equal(t, []int{tt.width, tt.height}, []int{s.Width, s.Height})
		})
	}
}

// TestPicturesThatAreTooLarge: a picture of 8k is refused before it takes memory, and the next size works.
func TestPicturesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	for _, codec := range []assemble.Codec{assemble.H264, assemble.VP8, assemble.VP9} {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, decode.Options{Stall: patience})
			large := encode(t, codec, 7680, 4320, 0, 1)[0]
			for i := range 20 {
				large.At = arrival.Add(time.Duration(i) * time.Second / 30)
				l.Push(large)
			}
			require.Eventually(t, func() bool { return l.Counts().Dropped == 20 }, patience, time.Millisecond)
			require.Zero(t, l.Counts().Starts)
			require.Contains(t, l.Counts().LastError, "7680x4320")
			check(t, l.push(t, encode(t, codec, 640, 360, 60, 31)), 640, 360)
		})
	}
}

// TestTheParameterSetsChange sends H.264 whose parameter sets change with each keyframe at the same size.
func TestTheParameterSetsChange(t *testing.T) {
	t.Parallel()
	l := newLab(t, decode.Options{})
	check(t, l.push(t, encode(t, assemble.H264, 640, 360, 0, 31)), 640, 360)
	for round, profile := range []string{"high", "main", "baseline"} {
		from := 60 * (round + 1)
		check(t, l.push(t, encodeDrawn(t, assemble.H264, 640, 360, from, 31, drawn, "-profile:v", profile, "-refs", fmt.Sprint(1+round))), 640, 360)
	}
	require.Equal(t, 1, l.Counts().Starts)
	require.Zero(t, l.keyframes.Load())
}

// TestATurnedCamera turns the camera between two keyframes. The samples are upright again from the keyframe that is
// requested.
func TestATurnedCamera(t *testing.T) {
	t.Parallel()
	for rotation, size := range map[int][2]int{90: {180, 320}, 180: {320, 180}, 270: {180, 320}} {
		t.Run(fmt.Sprint(rotation), func(t *testing.T) {
			t.Parallel()
			turned := func(width, height, number int) []byte {
				upright, sent := drawn(size[0], size[1], number), bytes.Repeat([]byte{128}, width*height*3/2)
				for y := range height {
					for x := range width {
						at := map[int][2]int{90: {height - 1 - y, x}, 180: {width - 1 - x, height - 1 - y}, 270: {y, width - 1 - x}}[rotation]
						sent[y*width+x] = upright[at[1]*size[0]+at[0]]
					}
				}
				return sent
			}
			l := newLab(t, decode.Options{})
			check(t, l.push(t, encode(t, assemble.H264, 320, 180, 0, 31)), 320, 180)
			pictures := encodeDrawn(t, assemble.H264, 320, 180, 60, 61, turned)
			for i := range pictures {
				pictures[i].Rotation = rotation
			}
			samples := l.push(t, pictures[5:])
			check(t, samples, size[0], size[1])
			require.Equal(t, size, [2]int{samples[0].Width, samples[0].Height})
			require.Positive(t, l.keyframes.Load())
			require.Equal(t, 2, l.Counts().Starts)
		})
	}
}

// TestHDRBecomesSDR: a gray of HLG becomes the gray that a screen shows, also when a sender starts to
// send it within a stream.
func TestHDRBecomesSDR(t *testing.T) {
	t.Parallel()
	// A luma of 114 is 45% of the range of HLG and 128 of 255 on a screen.
	gray := func(width, height, _ int) []byte {
		return append(bytes.Repeat([]byte{114}, width*height), bytes.Repeat([]byte{128}, width*height/2)...)
	}
	l := newLab(t, decode.Options{FPS: 30, Colors: func(light assemble.Light) []string { return ffmpeg.Light(light).Filters() }})
	pictures := encodeDrawn(t, assemble.H264, 64, 48, 0, 60, gray)
	for i := range pictures {
		if i >= 30 {
			pictures[i].Light = assemble.Light{Transfer: 18, Primaries: 9}
		}
	}
	for i, want := range []float64{114, 128} {
		samples := l.push(t, pictures[30*i:30*i+30])
		img, err := jpeg.Decode(bytes.NewReader(samples[len(samples)-1].JPEG))
		require.NoError(t, err)
		r, _, _, _ := img.At(32, 24).RGBA()
		require.InDelta(t, want, float64(r>>8), 4)
	}
}
