package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// streamPatience bounds the wait for a message of a live stream, on a slow machine.
const streamPatience = 90 * time.Second

// patientStreams are settings for a machine on which the model is slow.
var patientStreams = []string{"VQA_STREAM_FIRST_FRAME=3m", "VQA_STREAM_ICE_TIMEOUT=1m", "VQA_MEDIA_ADDR=0.0.0.0:0"}

// broadcast is `vqa stream --json`, with the messages that it printed.
type broadcast struct {
	t   *testing.T
	cmd *exec.Cmd

	mu       sync.Mutex
	messages []map[string]any
	stderr   bytes.Buffer
	ended    chan struct{}
}

// broadcast sends a clip without end to a stream of the client.
func (c *apiClient) broadcast(t *testing.T, clip, prompt string, flags ...string) *broadcast {
	t.Helper()
	b := &broadcast{t: t, ended: make(chan struct{})}
	args := append([]string{"stream", clip, prompt, "--loop", "--json", "--url", "http://" + c.addr, "--key", c.key.APIKey}, flags...)
	b.cmd = exec.Command(c.binary, args...)
	b.cmd.Env, b.cmd.Stderr = c.env, &b.stderr
	out, err := b.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, b.cmd.Start())
	go b.read(out)
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		<-b.ended
		if t.Failed() {
			t.Logf("the sender: %s\n%v", &b.stderr, b.all())
		}
	})
	return b
}

func (b *broadcast) read(out io.Reader) {
	defer close(b.ended)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m map[string]any
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			b.mu.Lock()
			b.messages = append(b.messages, m)
			b.mu.Unlock()
		}
	}
	_ = b.cmd.Wait()
}

func (b *broadcast) all() []map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.messages[:len(b.messages):len(b.messages)]
}

// await waits for a message after the first n and returns it with the number of messages up to it.
func (b *broadcast) await(what string, after int, is func(map[string]any) bool) (map[string]any, int) {
	b.t.Helper()
	var found map[string]any
	n := after
	require.True(b.t, poll(streamPatience, func() bool {
		for all := b.all(); n < len(all); {
			n++
			if is(all[n-1]) {
				found = all[n-1]
				return true
			}
		}
		return false
	}), "no %s", what)
	return found, n
}

// tells matches a message by its type and, unless empty, its answer.
func tells(kind, answer string) func(map[string]any) bool {
	return func(m map[string]any) bool { return m["type"] == kind && (answer == "" || m["answer"] == answer) }
}

// stop ends the stream as Ctrl-C does, and returns the resource.
func (b *broadcast) stop() map[string]any {
	b.t.Helper()
	require.NoError(b.t, b.cmd.Process.Signal(syscall.SIGINT))
	return b.over()
}

// over waits for the end of the sender and returns the resource, its last line.
func (b *broadcast) over() map[string]any {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(streamPatience):
		require.Fail(b.t, "the sender does not end")
	}
	all := b.all()
	require.NotEmpty(b.t, all)
	last := all[len(all)-1]
	require.Equal(b.t, "stream", last["object"], "%v %s", last, &b.stderr)
	return last
}

// TestLiveStreams takes streams through the real program: media, answers, credits, recording, faults.
func TestLiveStreams(t *testing.T) {
	t.Parallel()
	s := ownService(t, append(patientStreams, embeddedWorker, "VQA_STREAM_JOIN_TIMEOUT=1s")...)
	clip, err := longClip()
	require.NoError(t, err)
	t.Run("answers", func(t *testing.T) { liveAnswers(t, s, clip) })
	t.Run("test mode", func(t *testing.T) { liveInTestMode(t, s, clip) })
	t.Run("nobody joins", func(t *testing.T) { nobodyJoins(t, s) })
	requireLedgerClean(t, s)
}

// liveAnswers records a stream, harms what it depends on, and compares its bill with the ledger.
func liveAnswers(t *testing.T, s *service, clip string) {
	c := s.account(t, 600)
	b := c.broadcast(t, clip, "Is there a stop sign?", "--recording")
	_, n := b.await("answer", 0, tells("result", "yes"))

	_, running := b.await("heartbeat", n, tells("metering", ""))
	require.NoError(t, syscall.Kill(postmaster(s), syscall.SIGKILL))
	_, n = b.await("answer while the database is away", running, tells("result", ""))
	require.NoError(t, syscall.Kill(s.child(t, "ffmpeg"), syscall.SIGKILL))
	_, n = b.await("answer after the end of ffmpeg", n, tells("result", "yes"))
	require.NoError(t, syscall.Kill(s.worker(t), syscall.SIGKILL))
	_, n = b.await("answer of the next worker", n, tells("result", "yes"))
	b.await("heartbeat", n, tells("metering", ""))

	ended := b.stop()
	require.Equal(t, "completed", ended["end_reason"], "%v", ended)
	read := c.call(t, http.MethodGet, "/v1/streams/"+ended["id"].(string), nil)
	billed := read.number("usage.billed_seconds")
	require.Positive(t, billed)
	require.Equal(t, read.number("duration_s"), billed)
	balance := c.call(t, http.MethodGet, "/v1/credits", nil)
	require.Equal(t, 600-billed, balance.number("balance_seconds"), "%s", balance.raw)
	require.Zero(t, balance.number("held_seconds"))
	require.Equal(t, "stream_debit", balance.text("transactions.0.kind"))
	requireRecording(t, c, ended["id"].(string))
}

// requireRecording plays both files of a recording.
func requireRecording(t *testing.T, c *apiClient, streamID string) {
	t.Helper()
	var recording answer
	require.True(t, pollEvery(time.Second, streamPatience, func() bool {
		recording = c.call(t, http.MethodGet, "/v1/streams/"+streamID+"/recording", nil)
		return recording.status != http.StatusConflict
	}))
	require.Equal(t, http.StatusOK, recording.status, "%s", recording.raw)
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	for _, address := range []string{"url", "mp4_url"} {
		got, err := http.Get(recording.text(address))
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), address)
		file, err := os.Create(path)
		require.NoError(t, err)
		_, err = io.Copy(file, got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.NoError(t, file.Close())
		out, err := exec.CommandContext(ctx, "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames", "-of", "csv=p=0", path).Output()
		require.NoError(t, err)
		codec, frames, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
		require.Equal(t, "h264", codec)
		n, err := strconv.Atoi(frames)
		require.NoError(t, err)
		require.Greater(t, n, 10, address)
	}
	deleted := c.call(t, http.MethodDelete, "/v1/streams/"+streamID+"/recording", nil)
	require.Equal(t, http.StatusOK, deleted.status, "%s", deleted.raw)
	require.True(t, poll(streamPatience, func() bool {
		_, err := os.Stat(filepath.Join(c.dir, "objects", "recordings", streamID))
		return os.IsNotExist(err)
	}), "the files of the recording stay")
	got, err := http.Get(recording.text("mp4_url"))
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	require.Equal(t, http.StatusNotFound, got.StatusCode)
}

// liveInTestMode: real media, canned results, no credits.
func liveInTestMode(t *testing.T, s *service, clip string) {
	c := &apiClient{s, issued{APIKey: s.newTestKey(t)}}
	b := c.broadcast(t, clip, "Is there a ball?")
	b.await("canned result", 0, tells("result", "yes"))
	ended := b.stop()
	require.Equal(t, false, ended["livemode"])
	require.Equal(t, map[string]any{"billed_seconds": 0.0, "credit_balance_after": nil}, ended["usage"])
	triggered := string(s.tool(t, "trigger", "stream.ended", "--url", "http://"+s.addr, "--key", c.key.APIKey))
	require.Regexp(t, `^stream\.ended  st_\w+  evt_\w+\n$`, triggered)
}

// nobodyJoins: a stream without a client ends, and its event is in the feed.
func nobodyJoins(t *testing.T, s *service) {
	c := s.account(t, 10)
	created := c.call(t, http.MethodPost, "/v1/streams", map[string]any{"prompt": "Is there a stop sign?"})
	require.Equal(t, http.StatusCreated, created.status, "%s", created.raw)
	require.Equal(t, "ready", created.text("status"))
	var events answer
	require.True(t, poll(streamPatience, func() bool {
		events = c.call(t, http.MethodGet, "/v1/events?type=stream.ended", nil)
		return events.text("data.0.id") != ""
	}))
	require.Equal(t, "canceled", events.text("data.0.data.end_reason"))
	require.Equal(t, 10.0, c.call(t, http.MethodGet, "/v1/credits", nil).number("available_seconds"))
}

// child returns a child process of the service by a part of its command.
func (s *service) child(t *testing.T, name string) (pid int) {
	t.Helper()
	require.True(t, poll(streamPatience, func() bool {
		out, err := exec.Command("pgrep", "-P", strconv.Itoa(s.cmd.Process.Pid), "-x", name).Output()
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.Fields(string(out))[0])
		return err == nil
	}), "no %s runs", name)
	return pid
}

// TestAStreamOfALostNode: a client reaches its stream through another node. When the owner is killed, the other
// node ends the stream, billed up to its last heartbeat.
func TestAStreamOfALostNode(t *testing.T) {
	t.Parallel()
	clip, err := longClip()
	require.NoError(t, err)
	a := ownService(t, append(patientStreams, "VQA_STREAM_SLOTS=0")...)
	b, err := newService(append(patientStreams, "VQA_DATA_DIR="+a.dir, "VQA_STREAM_SLOTS=1")...)
	require.NoError(t, err)
	require.NoError(t, b.start())
	c := a.account(t, 600)
	sent := c.broadcast(t, clip, "Is there a stop sign?")
	_, n := sent.await("heartbeat", 0, tells("metering", ""))
	sent.await("second heartbeat", n, tells("metering", ""))
	b.kill()
	var streams answer
	require.True(t, pollEvery(200*time.Millisecond, streamPatience, func() bool {
		streams = c.call(t, http.MethodGet, "/v1/streams", nil)
		return streams.text("data.0.status") == "ended"
	}))
	require.Equal(t, "error", streams.text("data.0.end_reason"), "%s", streams.raw)
	billed := streams.number("data.0.usage.billed_seconds")
	require.Positive(t, billed)
	require.Equal(t, 600-billed, c.call(t, http.MethodGet, "/v1/credits", nil).number("balance_seconds"))
	last := 0.0
	for _, m := range sent.all() {
		if m["type"] == "metering" {
			last = m["billed_seconds"].(float64)
		}
	}
	require.InDelta(t, last, billed, 6, "up to the last heartbeat, which the client may not have seen")
	require.Contains(t, string(a.tool(t, "why", streams.text("data.0.id"))), "system:sweep", "%s", streams.raw)
	requireLedgerClean(t, a)
}
