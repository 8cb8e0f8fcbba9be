package main_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReceiptsAndNarratives asks one question about two equal videos, and again about the first. A
// second examination and a stored survey give the same result, bit for bit, receipt included.
func TestReceiptsAndNarratives(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 1000)
	first, second := c.readyVideo(t, clip(t, signsClip)), c.readyVideo(t, clip(t, signsClip))
	ask := func(videoID string) answer {
		a := c.call(t, http.MethodPost, "/v1/analyses", map[string]any{
			"video_id": videoID, "prompt": "Is there a stop sign?", "options": map[string]any{"narrative": true},
		}, "Prefer", "wait=100")
		require.Equal(t, "completed", a.text("status"), "%s", a.raw)
		return a
	}
	one := ask(first)
	for name, again := range map[string]answer{"a second examination": ask(second), "the stored survey": ask(first)} {
		require.Equal(t, one.at("result"), again.at("result"), name)
	}
	const digest = "^sha256:[0-9a-f]{64}$"
	require.Regexp(t, digest, one.text("result.receipt.query_digest"))
	require.Regexp(t, digest, one.text("result.receipt.model.digest"))
	require.Equal(t, one.text("model"), one.text("result.receipt.model.id"))
	require.NotEmpty(t, one.text("result.receipt.model.weights"))
	require.NotEmpty(t, one.text("result.receipt.worker_version"))
	told := 0.0
	for _, run := range one.at("result.receipt.sampled").([]any) {
		told += run.(map[string]any)["count"].(float64)
	}
	require.InDelta(t, one.number("result.receipt.frames"), told, 0)
	require.GreaterOrEqual(t, told, 2*signsClipS-1, "at least two frames per second")

	done := c.await(t, "/v1/analyses/"+one.text("id"), recovery, func(a answer) bool { return a.text("narrative.status") != "generating" })
	require.Equal(t, "ready", done.text("narrative.status"), "%s", done.raw)
	entries := done.at("narrative.entries").([]any)
	require.NotEmpty(t, entries)
	require.Contains(t, string(done.raw), "stop sign")
	require.Equal(t, one.at("result"), done.at("result"), "the answer does not change")
	require.Equal(t, one.at("usage"), done.at("usage"), "it costs nothing")
}

// killInDrawing kills the service while it renders the artifacts of an answer.
func killInDrawing(t *testing.T, s *service, temp string) {
	c := s.account(t, 100)
	videoID := c.readyVideo(t, clip(t, signsClip))
	a := c.ask(t, videoID, "Is there a stop sign?", "Prefer", "wait=100")
	require.Equal(t, "completed", a.text("status"), "%s", a.raw)
	path := "/v1/analyses/" + a.text("id")
	require.True(t, poll(recovery, func() bool { return len(beingDrawn(t, temp)) > 0 }), "it is drawn")
	s.kill()
	left := beingDrawn(t, temp)
	require.NotEmpty(t, left, "the crash leaves files behind")
	require.NoError(t, s.start())
	for _, file := range left {
		require.NoFileExists(t, file, "the next start removes it")
	}
	after := c.call(t, http.MethodGet, path, nil)
	require.Equal(t, a.at("result"), after.at("result"))
	require.Equal(t, a.at("usage"), after.at("usage"))
	// The URLs from before the crash stay valid, and wait for the next attempt.
	checkArtifacts(t, a)
	checkArtifacts(t, c.call(t, http.MethodGet, path, nil))
	require.Equal(t, http.StatusOK, c.call(t, http.MethodDelete, "/v1/videos/"+videoID, nil).status)
	require.Nil(t, c.call(t, http.MethodGet, path, nil).at("artifacts"))
	require.True(t, poll(recovery, func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, "objects", "artifacts", videoID, "*"))
		return err == nil && len(left) == 0
	}), "the artifacts are deleted too")
}

// beingDrawn lists the annotated videos that are being rendered in a folder for temporary files.
func beingDrawn(t *testing.T, temp string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(temp, "vqa-scratch-*", "annotated.mp4"))
	require.NoError(t, err)
	return found
}
