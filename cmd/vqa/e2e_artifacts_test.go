package main_test

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkArtifacts plays the annotated video of an answer about signsClip, and looks at its
// contact sheet.
func checkArtifacts(t *testing.T, a answer) {
	t.Helper()
	read := func(field, contentType string) []byte {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.text("artifacts."+field), nil)
		require.NoError(t, err, "%s", a.raw)
		got, err := exchange(req)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, got.status, "%s", got.raw)
		require.Equal(t, contentType, got.header.Get("Content-Type"))
		return got.raw
	}
	path := filepath.Join(t.TempDir(), "annotated.mp4")
	require.NoError(t, os.WriteFile(path, read("annotated_video_url", "video/mp4"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v",
		"-show_entries", "stream=codec_name,pix_fmt,width,nb_read_frames", "-of", "csv=p=0", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	// 6.5 s at 10 pictures a second, every one of which can be decoded.
	require.Equal(t, "h264,640,yuv420p,65", strings.TrimSpace(string(out)))
	sheet, err := png.Decode(bytes.NewReader(read("contact_sheet_url", "image/png")))
	require.NoError(t, err)
	require.Greater(t, sheet.Bounds().Dx(), 400)
}
