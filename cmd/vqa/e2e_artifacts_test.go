package main_test

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkArtifacts decodes the annotated video of an answer about signsClip, and its contact sheet.
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
	cmd := exec.CommandContext(ctx, "ffmpeg", "-nostdin", "-i", path, "-map", "0:v", "-f", "framecrc", "pipe:1")
	var said bytes.Buffer
	cmd.Stderr = &said
	decoded, err := cmd.Output()
	require.NoError(t, err, "%s", &said)
	require.Regexp(t, `Video: h264 .*yuv420p.*, 640x`, said.String())
	// 6.5 s at 10 frames per second, all of them decoded.
	require.Len(t, regexp.MustCompile(`(?m)^0,`).FindAll(decoded, -1), 65)
	sheet, err := png.Decode(bytes.NewReader(read("contact_sheet_url", "image/png")))
	require.NoError(t, err)
	require.Greater(t, sheet.Bounds().Dx(), 400)
}
