package frames

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadPart(t *testing.T) {
	t.Parallel()
	part := func(length, body string) string {
		return "--ffmpeg\r\nContent-type: image/jpeg\r\nContent-length: " + length + "\r\n\r\n" + body + "\r\n"
	}
	r := bufio.NewReader(strings.NewReader(part("4", "\xff\xd8ab") + part("3", "\xff\xd8c") + "--ffmpeg\r\n"))
	for _, want := range []string{"\xff\xd8ab", "\xff\xd8c"} {
		got, err := readPart(r)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := readPart(r)
	require.ErrorIs(t, err, io.EOF)

	for name, stream := range map[string]string{
		"cut off":       part("9", "\xff\xd8a"),
		"no JPEG":       part("2", "ab"),
		"huge":          part("99999999999", ""),
		"negative":      part("-1", ""),
		"no length":     strings.Repeat("X: y\r\n", 100),
		"endless line":  strings.Repeat("x", 1<<20),
		"cut in header": "--ffmpeg\r\nContent-le",
	} {
		_, err := readPart(bufio.NewReader(strings.NewReader(stream)))
		require.Error(t, err, name)
		require.NotErrorIs(t, err, io.EOF, name)
	}
}

// FuzzReadPart: the parser never panics, and returns only JPEGs.
func FuzzReadPart(f *testing.F) {
	f.Add([]byte("--ffmpeg\r\nContent-length: 2\r\n\r\n\xff\xd8\r\n"), []byte("frame:0 pts:0 pts_time:0.5\nat=1\n"))
	f.Fuzz(func(t *testing.T, pictures, times []byte) {
		r := bufio.NewReader(bytes.NewReader(pictures))
		for {
			jpeg, err := readPart(r)
			if err != nil {
				break
			}
			if !bytes.HasPrefix(jpeg, []byte{0xff, 0xd8}) {
				t.Fatalf("%q", jpeg)
			}
		}
		if when, err := readTime(bufio.NewReader(bytes.NewReader(times))); err == nil {
			for _, mode := range []mode{sampled, sought, first} {
				if at := when.at(Options{FPS: .01}, mode); !(at >= 0 && at <= 1e17) {
					t.Fatal(at)
				}
			}
		}
	})
}
