package ffmpeg_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg"
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

// TestLimitsOfAProbe: a probe has less memory and ends first when memory ends. As root, it has a user of its own.
func TestLimitsOfAProbe(t *testing.T) {
	t.Parallel()
	probing := idle(t, t.Context(), ffmpeg.Job{Probe: true})
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", probing))
	require.NoError(t, err)
	require.Regexp(t, `Max address space +1610612736 +1610612736 `, string(text))
	status := statusOf(t, probing)
	for _, m := range ffmpegtest.Runner(t).Measures() {
		if m.Name == "user" && m.Active {
			require.Equal(t, "61000\t61000\t61000\t61000", status["Uid"])
			require.Equal(t, status["Uid"], status["Gid"])
			require.Empty(t, status["Groups"])
		}
	}
	pid := idle(t, t.Context(), ffmpeg.Job{})
	for id, want := range map[int]string{pid: "500\n", probing: "1000\n"} {
		score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", id))
		require.NoError(t, err)
		require.Equal(t, want, string(score))
	}
}
