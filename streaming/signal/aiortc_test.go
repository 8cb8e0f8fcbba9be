package signal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/stream"
)

// stranger is a client of another implementation: aiortc/client.py.
type stranger struct {
	t      testing.TB
	in     io.Writer
	out    *bufio.Scanner
	errors *strings.Builder
}

// newStranger starts the client. It skips the test when make test-setup could not install its packages.
func newStranger(t testing.TB, mode, url string) *stranger {
	t.Helper()
	python, err := filepath.Abs(filepath.Join("..", "..", ".cache", "aiortc", "bin", "python"))
	require.NoError(t, err)
	if _, err := os.Stat(python); err != nil {
		t.Skip("make test-setup could not install the Python packages of aiortc")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*patience)
	c := exec.CommandContext(ctx, python, filepath.Join("aiortc", "client.py"), mode, url)
	s := &stranger{t: t, errors: &strings.Builder{}}
	c.Stderr, c.Env = s.errors, append(os.Environ(), "TOKEN=svcct_x")
	s.in, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<20)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		cancel()
		_ = c.Wait() // it was killed, or has ended
	})
	return s
}

func (s *stranger) say(command string) {
	s.t.Helper()
	_, err := io.WriteString(s.in, command+"\n")
	require.NoError(s.t, err)
}

// await reads until a message fulfills a condition.
func (s *stranger) await(what string, fulfills func(m map[string]any) bool) map[string]any {
	s.t.Helper()
	last := ""
	for s.out.Scan() {
		last = s.out.Text()
		var m map[string]any
		require.NoError(s.t, json.Unmarshal(s.out.Bytes(), &m), last)
		require.NotEqual(s.t, "error", m["type"], last)
		if fulfills(m) {
			return m
		}
	}
	require.Fail(s.t, "no "+what, "after %s\n%s", last, s.errors)
	return nil
}

// has is a condition on a member of a message.
func has(name string, want any) func(map[string]any) bool {
	return func(m map[string]any) bool { return m[name] == want }
}

func TestAiortcOverTheSocket(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	s := newStranger(t, "signal", g.url("signal")+"?token=svcct_x")
	s.await("ready", has("type", "ready"))
	s.await("live", has("type", "live"))
	found := s.await("a dog", has("answer", "yes"))
	require.Len(t, found["detections"], 1)
	s.say("dark")
	s.await("no dog", has("answer", "no"))
	s.say(`{"type":"update_prompt","prompt":"Is no dog visible?"}`)
	s.await("the prompt", has("type", "prompt_updated"))
	s.await("the answer to the new prompt", has("answer", "yes"))
	s.say(`{"type":"end"}`)
	require.Equal(t, "completed", s.await("the end", has("type", "end"))["reason"])
	require.InDelta(t, 1000, s.await("the close", func(m map[string]any) bool { return m["closed"] != nil })["closed"], 0)
	g.ended("signaling", stream.Completed)
}

func TestAiortcOverWHIP(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	s := newStranger(t, "whip", g.url("whip"))
	created := s.await("the answer", has("status", 201.0))
	require.Equal(t, "/v1/streams/"+streamID+"/whip", created["location"])
	s.await("live", has("type", "live"))
	s.await("a dog", has("answer", "yes"))
	s.say("dark")
	s.await("no dog", has("answer", "no"))
	s.say("delete")
	s.await("the end", has("reason", "completed"))
	g.ended("whip", stream.Completed)
}

// TestAiortcCloses ends the stream by the close of the connection (DTLS).
func TestAiortcCloses(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	s := newStranger(t, "signal", g.url("signal"))
	s.await("a dog", has("answer", "yes"))
	s.say("close")
	s.await("the end", has("reason", "completed"))
	g.ended("signaling", stream.Completed)
}
