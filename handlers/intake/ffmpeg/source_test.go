package ffmpeg_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// The matrices from linear BT.709 to other primaries (ITU-R BT.2087; P3 from its chromaticities).
var (
	same   = [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	to2020 = [3][3]float64{{.6274, .3293, .0433}, {.0691, .9195, .0114}, {.0164, .0880, .8956}}
	toP3   = [3][3]float64{{.8225, .1774, 0}, {.0332, .9669, 0}, {.0171, .0724, .9108}}
)

// encodeHLG and encodePQ turn light into samples, where 1 is a white of 203 nits (ITU-R BT.2100).
func encodeHLG(light float64) float64 {
	e := math.Pow(light*203/1000, 1/1.2)
	if e <= 1./12 {
		return math.Sqrt(3 * e)
	}
	return .17883277*math.Log(12*e-.28466892) + .55991073
}

func encodePQ(light float64) float64 {
	y := math.Pow(light*203/10000, .1593017578125)
	return math.Pow((.8359375+18.8515625*y)/(1+18.6875*y), 78.84375)
}

func encodeSDR(light float64) float64 { return math.Pow(light, 1/2.4) }

// TestColorsBecomeBT709 encodes one red in the ways of phones, cameras and screen recorders. The
// frames have the red of the SDR video, in every release of ffmpeg.
func TestColorsBecomeBT709(t *testing.T) {
	t.Parallel()
	runner := ffmpegtest.Runner(t)
	red := [3]float64{200, 20, 40}
	for name, c := range map[string]struct {
		transfer, primaries, space string
		encode                     func(float64) float64
		matrix                     [3][3]float64
		bits                       int
		full                       bool
		want                       ffmpeg.Light
	}{
		"SDR":                 {"bt709", "bt709", "bt709", encodeSDR, same, 8, false, ffmpeg.Light{Transfer: 1, Primaries: 1}},
		"HLG":                 {"arib-std-b67", "bt2020", "bt2020nc", encodeHLG, to2020, 10, false, ffmpeg.Light{Transfer: 18, Primaries: 9}},
		"PQ":                  {"smpte2084", "bt2020", "bt2020nc", encodePQ, to2020, 10, false, ffmpeg.Light{Transfer: 16, Primaries: 9}},
		"HLG, 8 bits":         {"arib-std-b67", "bt2020", "bt2020nc", encodeHLG, to2020, 8, false, ffmpeg.Light{Transfer: 18, Primaries: 9}},
		"PQ, full range":      {"smpte2084", "bt2020", "bt2020nc", encodePQ, to2020, 10, true, ffmpeg.Light{Transfer: 16, Primaries: 9}},
		"PQ, BT.709":          {"smpte2084", "bt709", "bt709", encodePQ, same, 10, false, ffmpeg.Light{Transfer: 16, Primaries: 1}},
		"BT.2020 without HDR": {"bt2020-10", "bt2020", "bt2020nc", encodeSDR, to2020, 10, false, ffmpeg.Light{Transfer: 14, Primaries: 9}},
		"Display P3":          {"bt709", "smpte432", "bt709", encodeSDR, toP3, 8, false, ffmpeg.Light{Transfer: 1, Primaries: 12}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e [3]float64
			for i, row := range c.matrix {
				light := 0.
				for j, k := range row {
					light += k * math.Pow(red[j]/255, 2.4)
				}
				e[i] = c.encode(light)
			}
			kr, kb := .2126, .0722
			if c.space == "bt2020nc" {
				kr, kb = .2627, .0593
			}
			y := kr*e[0] + (1-kr-kb)*e[1] + kb*e[2]
			unit, black, luma, chroma, pixels, limits := float64(int(1)<<(c.bits-8)), 16., 219., 224., "yuv444p", "tv"
			if c.full {
				black, luma, chroma, limits = 0, 255, 255, "pc"
			}
			if c.bits == 10 {
				pixels = "yuv444p10le"
			}
			source := fmt.Sprintf("color=gray:s=64x48:r=10:d=0.3,format=%s,geq=lum=%.0f:cb=%.0f:cr=%.0f,setparams=color_primaries=%s:color_trc=%s:colorspace=%s:range=%s",
				pixels, unit*(black+luma*y), unit*(128+chroma*(e[2]-y)/2/(1-kb)), unit*(128+chroma*(e[0]-y)/2/(1-kr)), c.primaries, c.transfer, c.space, limits)
			path := filepath.Join(t.TempDir(), "red.mp4")
			out, err := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-c:v", "libx264", "-qp", "1",
				"-color_primaries", c.primaries, "-color_trc", c.transfer, "-colorspace", c.space, "-color_range", limits, path).CombinedOutput()
			require.NoError(t, err, "%s", out)

			light, err := runner.Look(t.Context(), ffmpeg.Source{Name: path})
			require.NoError(t, err)
			require.Equal(t, c.want, light)
			for f, err := range frames.Sample(t.Context(), runner, path, frames.Options{Colors: light.Filters()}) {
				require.NoError(t, err)
				img, err := jpeg.Decode(bytes.NewReader(f.Image))
				require.NoError(t, err)
				r, g, b, _ := img.At(32, 24).RGBA()
				require.InDeltaSlice(t, red[:], []uint32{r >> 8, g >> 8, b >> 8}, 8)
			}
		})
	}
}

// TestLookAtWhatCannotBeDecoded: decoding, and not the look, reports the problem.
func TestLookAtWhatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	light, err := ffmpegtest.Runner(t).Look(t.Context(), ffmpeg.Source{Name: filepath.Join(t.TempDir(), "absent.mp4")})
	require.NoError(t, err)
	require.Equal(t, ffmpeg.Light{}, light)
	require.Empty(t, light.Filters())
}
