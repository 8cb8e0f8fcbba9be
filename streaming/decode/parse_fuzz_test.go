package decode_test

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/streaming/decode"
)

func TestOutputOfFFmpeg(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want, err string
	}{
		"a sample":        {"--ffmpeg\r\nContent-type: image/jpeg\r\nContent-length: 4\r\n\r\n\xff\xd8xy\r\n", "\xff\xd8xy", ""},
		"no length":       {"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "", "no Content-length"},
		"a large length":  {"Content-length: 99999999\r\n\r\n", "", "invalid length"},
		"a negative one":  {"Content-length: -1\r\n\r\n", "", "invalid length"},
		"cut off":         {"Content-length: 9\r\n\r\n\xff\xd8", "", "cut off"},
		"not a JPEG":      {"Content-length: 2\r\n\r\nxy", "", "not a JPEG"},
		"an endless line": {string(bytes.Repeat([]byte("x"), 1<<17)), "", "buffer full"},
	} {
		jpeg, err := decode.ReadPart(bufio.NewReader(bytes.NewReader([]byte(tt.text))))
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tt.want, string(jpeg), name)
	}
}

// FuzzReadPart reads the output of an ffmpeg that was taken over.
func FuzzReadPart(f *testing.F) {
	f.Add([]byte("--ffmpeg\r\nContent-type: image/jpeg\r\nContent-length: 4\r\n\r\n\xff\xd8xy\r\n"))
	f.Add([]byte("frame:1    pts:18000   pts_time:0.2\nat=1\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			if _, err := decode.ReadPart(r); err != nil {
				break
			}
		}
		r.Reset(bytes.NewReader(data))
		for {
			if _, err := decode.ReadTime(r); err != nil {
				break
			}
		}
	})
}
