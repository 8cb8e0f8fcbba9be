package ffmpeg_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

func TestWriteFileIsBounded(t *testing.T) {
	t.Parallel()
	written := func(limit int64) (string, error) {
		path := filepath.Join(t.TempDir(), "out.yuv")
		p, err := ffmpegtest.Runner(t).WriteFile(t.Context(), []string{"-f", "rawvideo", "-pix_fmt", "gray", "-video_size", "64x48"},
			[]string{"-c", "copy", "-f", "rawvideo"}, path, limit, 0)
		require.NoError(t, err)
		_, _ = p.Write(make([]byte, 10*64*48)) // its error is that of Close
		return path, p.Close()
	}
	path, err := written(10 * 64 * 48)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 10*64*48, info.Size())
	_, err = written(5 * 64 * 48)
	require.Contains(t, refusal(t, err).Reason, "it wrote more than 15360 bytes")
}
