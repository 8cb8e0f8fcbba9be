package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAiortc sends video with another implementation of WebRTC (streaming/signal/aiortc), over the socket and
// over WHIP. It knows only a client token, and it connects to a node that has no slots: that node passes
// everything on to the owner.
func TestAiortc(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs(filepath.Join(root, ".cache", "aiortc", "bin", "python"))
	require.NoError(t, err)
	if _, err := os.Stat(python); err != nil {
		t.Skip("make test-setup could not install the Python packages of aiortc")
	}
	settings := []string{"VQA_STREAM_FIRST_FRAME=3m", "VQA_STREAM_ICE_TIMEOUT=1m", "VQA_MEDIA_ADDR=127.0.0.1:0"}
	door := ownService(t, append(settings, "VQA_STREAM_SLOTS=0")...)
	owner, err := newService(append(settings, "VQA_STREAM_SLOTS=1", "VQA_DATA_DIR="+door.dir)...)
	require.NoError(t, err)
	require.NoError(t, owner.start())
	t.Cleanup(func() { require.NoError(t, owner.terminate(), "%s", owner.said) })
	c := &apiClient{door, issued{APIKey: door.newTestKey(t)}}
	for _, mode := range []string{"signal", "whip"} {
		t.Run(mode, func(t *testing.T) { c.sendsFrom(t, python, mode) })
	}
}

// sendsFrom takes a stream from its creation to its end with the client in Python.
func (c *apiClient) sendsFrom(t *testing.T, python, mode string) {
	created := c.call(t, http.MethodPost, "/v1/streams", map[string]any{"prompt": "Is there a ball?"})
	require.Equal(t, http.StatusCreated, created.status, "%s", created.raw)
	path := "/v1/streams/" + created.text("id")
	require.True(t, poll(time.Minute, func() bool { return c.call(t, http.MethodGet, path, nil).text("status") == "ready" }))
	token := c.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:signal"}, "stream_id": created.text("id")})
	require.Equal(t, http.StatusCreated, token.status, "%s", token.raw)
	address := map[string]string{
		"signal": created.text("signaling.url") + "?token=" + token.text("token"),
		"whip":   "http://" + c.addr + path + "/whip",
	}[mode]

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, filepath.Join(root, "streaming", "signal", "aiortc", "client.py"), mode, address)
	var complaint strings.Builder
	cmd.Stderr, cmd.Env = &complaint, append(os.Environ(), "TOKEN="+token.text("token"))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var said []string
	await := func(what string, is func(m map[string]any) bool) {
		t.Helper()
		for lines.Scan() {
			said = append(said, lines.Text())
			var m map[string]any
			require.NoError(t, json.Unmarshal(lines.Bytes(), &m), "%s", lines.Text())
			if is(m) {
				return
			}
		}
		require.Fail(t, "no "+what, "%s\n%s", strings.Join(said, "\n"), &complaint)
	}
	await("live", func(m map[string]any) bool { return m["type"] == "live" })
	await("result", func(m map[string]any) bool { return m["type"] == "result" && m["seq"].(float64) >= 2 })
	_, err = io.WriteString(in, map[string]string{"signal": `{"type":"end"}`, "whip": "delete"}[mode]+"\n")
	require.NoError(t, err)
	await("end", func(m map[string]any) bool { return m["type"] == "end" && m["reason"] == "completed" })
	var ended answer
	require.True(t, poll(time.Minute, func() bool {
		ended = c.call(t, http.MethodGet, path, nil)
		return ended.text("status") == "ended"
	}))
	require.Equal(t, "completed", ended.text("end_reason"), "%s", ended.raw)
	require.GreaterOrEqual(t, ended.number("results_summary.result_frames"), 2.0)
}
