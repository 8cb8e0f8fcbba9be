package ffmpeg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Source is a stored video, with what reading and drawing it must agree on.
type Source struct {
	// Name is the path of a file, or an http or https URL.
	Name string
	// Track is the id of the track that is examined; 0 means the first video track.
	Track uint32
	// Light says how the samples of the track become light.
	Light Light
}

// Map is the argument of -map for the track.
func (s Source) Map() string {
	if s.Track == 0 {
		return "0:V:0"
	}
	return fmt.Sprintf("0:i:%d", s.Track)
}

// Light is how samples become light: code points of ITU-T H.273, 2 or 0 when a video does not say.
type Light struct{ Transfer, Primaries int }

// The code points that differ from BT.709.
const (
	transferPQ    = 16 // SMPTE ST 2084
	transferHLG   = 18 // ARIB STD-B67
	primaries2020 = 9  // ITU-R BT.2020
	primariesP3   = 12 // SMPTE EG 432-1, Display P3
)

// HDR reports whether the video has a high dynamic range.
func (l Light) HDR() bool { return l.Transfer == transferPQ || l.Transfer == transferHLG }

const (
	// whiteNits is the luminance of white in HDR video (ITU-R BT.2408).
	whiteNits = "203"
	// decodeHLG and decodePQ turn a sample in ld(0), 0..1, into light, where 1 is white
	// (ITU-R BT.2100). HLG is shown at 1,000 nits, with the system gamma on each channel.
	decodeHLG = "1000/" + whiteNits + "*pow(if(lte(ld(0),0.5),ld(0)*ld(0)/3,(exp((ld(0)-0.55991073)/0.17883277)+0.28466892)/12),1.2)"
	decodePQ  = "10000/" + whiteNits + "*pow(max(pow(ld(0),1/78.84375)-0.8359375,0)/(18.8515625-18.6875*pow(ld(0),1/78.84375)),1/0.1593017578125)"
	// decodeSDR and encodeSDR are those of a screen (ITU-R BT.1886).
	decodeSDR = "pow(ld(0),2.4)"
	encodeSDR = "maxval*pow(val/maxval,1/2.4)"
	// compress bends light above 0.7, so that all of it stays below 1.
	compress = "if(lte(ld(1),0.7),ld(1),0.7+0.3*(1-exp((0.7-ld(1))/0.3)))"
)

// The matrices from linear light with other primaries to BT.709 (computed from the chromaticities; ITU-R BT.2407 has the first).
const (
	from2020 = "rr=1.6605:rg=-0.5876:rb=-0.0728:gr=-0.1246:gg=1.1329:gb=-0.0083:br=-0.0182:bg=-0.1006:bb=1.1187"
	fromP3   = "rr=1.2249:rg=-0.2249:rb=0:gr=-0.0421:gg=1.0421:gb=0:br=-0.0196:bg=-0.0786:bb=1.0983"
)

// Filters convert the colors to BT.709: transfer, primaries and dynamic range. There are none for a
// video that has these colors, or does not say. They follow the scaling of the frames.
func (l Light) Filters() []string {
	decode := decodeSDR
	switch l.Transfer {
	case transferHLG:
		decode = decodeHLG
	case transferPQ:
		decode = decodePQ
	}
	bent := "ld(1)"
	if l.HDR() {
		bent = compress
	}
	decode = "st(0,val/maxval);st(1," + decode + ");maxval*" + bent
	var matrix []string
	switch l.Primaries {
	case primaries2020:
		matrix = []string{"colorchannelmixer=" + from2020}
	case primariesP3:
		matrix = []string{"colorchannelmixer=" + fromP3}
	}
	if !l.HDR() && matrix == nil {
		return nil
	}
	filters := append([]string{"format=gbrp16le", onEach(decode)}, matrix...)
	return append(filters, onEach(encodeSDR))
}

// onEach computes each channel.
func onEach(expression string) string {
	return "lutrgb=r='" + expression + "':g='" + expression + "':b='" + expression + "'"
}

const (
	// lookCPU bounds the CPU time for one frame of the largest size.
	lookCPU = 20 * time.Second
	// maxLookBytes bounds the output for one frame of 16x16 pixels.
	maxLookBytes = 64 << 10
)

// Look returns the light of a track, as the decoder of its first frame reports it: encoders put it
// into the frames, muxers into the container, and many into only one of the two. A track without a
// frame that can be decoded has no light. The errors are those of Output that are not the video's.
func (r *Runner) Look(ctx context.Context, source Source) (Light, error) {
	// The header of Matroska has the colors.
	out, err := r.Output(ctx, Job{
		Input: source.Name, InputArgs: []string{"-threads", "1"}, CPU: lookCPU,
		OutputArgs: []string{"-map", source.Map(), "-frames:v", "1", "-vf", "scale=16:16,format=yuvj420p",
			"-c:v", "mjpeg", "-threads", "1", "-f", "matroska", "pipe:1"},
	}, maxLookBytes)
	if _, refused := errors.AsType[*ExitError](err); refused {
		return Light{}, nil
	}
	if err != nil {
		return Light{}, err
	}
	colors := out
	for _, id := range []string{"\x18\x53\x80\x67", "\x16\x54\xae\x6b", "\xae", "\xe0", "\x55\xb0"} { // Segment, Tracks, TrackEntry, Video, Colour
		colors = element(colors, id)
	}
	return Light{Transfer: number(element(colors, "\x55\xba")), Primaries: number(element(colors, "\x55\xbb"))}, nil
}

// element returns the content of the first element with an id in the content of a Matroska element
// (RFC 8794). It is empty when there is none.
func element(in []byte, id string) []byte {
	for len(in) > 0 {
		n := vintBytes(in[0])
		if n > 4 || len(in) <= n {
			return nil
		}
		found, rest := in[:n], in[n:]
		if n = vintBytes(rest[0]); len(rest) < n || n > 8 {
			return nil
		}
		size := uint64(rest[0]) & (1<<(8-n) - 1)
		for _, b := range rest[1:n] {
			size = size<<8 | uint64(b)
		}
		rest = rest[n:]
		size = min(size, uint64(len(rest))) // an unknown size is the largest number
		if bytes.Equal(found, []byte(id)) {
			return rest[:size]
		}
		in = rest[size:]
	}
	return nil
}

// vintBytes is the length of a number that starts with this byte, 1..9.
func vintBytes(first byte) int { return bits.LeadingZeros8(first) + 1 }

// number reads an unsigned number; none is 0.
func number(content []byte) int {
	n := 0
	for _, b := range content[:min(len(content), 4)] {
		n = n<<8 | int(b)
	}
	return n
}
