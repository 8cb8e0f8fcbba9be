package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query/vocabulary"
	"vqa/gpu"
)

// weightsDigest is the output of sha256sum for the two model files, one after the other.
const weightsDigest = "db6ad7388674d1466e0a69a269b0eba2f3837533f1929477a24d49b84b4304ca"

// sign is a picture of a stop sign.
func sign(t *testing.T) []byte {
	t.Helper()
	picture, err := os.ReadFile(filepath.Join("testdata", "stop-sign.jpg"))
	require.NoError(t, err)
	return picture
}

func start(t *testing.T, opts Options) *Worker {
	t.Helper()
	opts.Log = slog.New(slog.DiscardHandler)
	w, err := Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

func repeated(picture []byte, n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = picture
	}
	return list
}

// serving waits for a child and returns its process.
func serving(t *testing.T, w *Worker) *os.Process {
	t.Helper()
	require.NoError(t, w.await(t.Context()))
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotNil(t, w.child)
	return w.child
}

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	_, ok := errors.AsType[*gpu.UnavailableError](err)
	require.True(t, ok, "%v", err)
}

func TestDetectsThroughTheChild(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 2})
	req := gpu.Request{Frames: repeated(sign(t), 3), Terms: []string{"dog", "stop sign", "unicorn"}, WantColors: true, WantPose: true}
	resp, err := w.Engine().Detect(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false}, resp.Known)
	require.Len(t, resp.Frames, 3)
	best := resp.Frames[0][0]
	require.Equal(t, 1, best.Term)
	require.Greater(t, best.Score, 0.8)
	require.InDelta(t, 0.38, best.Box.X1, 0.03)
	require.InDelta(t, 0.62, best.Box.X2, 0.03)
	require.Len(t, best.Colors, 55)
	require.Nil(t, best.Keypoints)
	require.Empty(t, cmp.Diff(resp.Frames[0], resp.Frames[2]), "equal frames, equal answers")

	again, err := w.Engine().Detect(t.Context(), req)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(resp, again), "equal requests, equal answers")

	req = gpu.Request{Frames: repeated(sign(t), 1), Terms: []string{"stop sign"}, WantRotations: true}
	resp, err = w.Engine().Detect(t.Context(), req)
	require.NoError(t, err)
	require.InDelta(t, 0.38, resp.Frames[0][0].Box.X1, 0.05, "one box of all views")
	for _, other := range resp.Frames[0][1:] {
		require.Less(t, other.Score, 0.5)
	}

	require.NoError(t, w.Engine().Ready(t.Context()))
	info, err := w.Engine().Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, answer.CPUWeights, info.Weights, "its scores are calibrated")
	require.Equal(t, vocabulary.COCO().Names(), info.Vocabulary)
	require.Len(t, info.Colors, 55)
	require.True(t, info.Rotations)
	require.Equal(t, 2, info.Concurrency)
	require.Equal(t, weightsDigest, info.Digest)
	require.Regexp(t, `^vqa-worker/\d+\.\d+\.\d+$`, info.Worker)

	_, err = w.Engine().Detect(t.Context(), gpu.Request{Frames: [][]byte{[]byte("no picture")}, Terms: []string{"dog"}})
	_, ok := errors.AsType[*gpu.InferenceError](err)
	require.True(t, ok, "%v", err)
}

// recovers asks until a child answers: the first calls may still reach the dead one.
func recovers(t *testing.T, w *Worker) {
	t.Helper()
	req := gpu.Request{Frames: repeated(sign(t), 1), Terms: []string{"stop sign"}}
	require.Eventually(t, func() bool {
		resp, err := w.Engine().Detect(t.Context(), req)
		return err == nil && len(resp.Frames[0]) > 0
	}, 2*time.Minute, 10*time.Millisecond)
}

func TestKilledChildIsReplaced(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 1})
	child := serving(t, w)
	sent := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	failed := make(chan error, 1)
	go func() {
		// There are too many frames for one thread to finish before the kill.
		_, err := w.Engine().Detect(ctx, gpu.Request{Frames: repeated(sign(t), gpu.MaxFrames), Terms: []string{"dog"}})
		failed <- err
	}()
	<-sent
	require.NoError(t, child.Kill())
	requireUnavailable(t, <-failed)

	recovers(t, w)
	require.NotEqual(t, child.Pid, serving(t, w).Pid)
}

func TestHungChildIsReplaced(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 1, Timeout: 2 * time.Second})
	child := serving(t, w)
	require.NoError(t, child.Signal(syscall.SIGSTOP))
	_, err := w.Engine().Detect(t.Context(), gpu.Request{Frames: repeated(sign(t), 1), Terms: []string{"stop sign"}})
	requireUnavailable(t, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	recovers(t, w)
	require.NotEqual(t, child.Pid, serving(t, w).Pid)
}

// TestSilentChildIsReplaced sends no requests to the child.
func TestSilentChildIsReplaced(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 1, Heartbeat: 200 * time.Millisecond})
	child := serving(t, w)
	w.mu.Lock()
	changed := w.changed
	w.mu.Unlock()
	require.NoError(t, child.Signal(syscall.SIGSTOP))
	<-changed
	require.NotEqual(t, child.Pid, serving(t, w).Pid)
	recovers(t, w)
}

// TestAStarvedChildIsKept stops a child for longer than its limits, as if other programs had all of the
// processor.
func TestAStarvedChildIsKept(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 1, Timeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond})
	child := serving(t, w)
	require.NoError(t, child.Signal(syscall.SIGSTOP))
	resume := time.AfterFunc(3*time.Second, func() { _ = child.Signal(syscall.SIGCONT) })
	defer resume.Stop()
	_, err := w.Engine().Detect(t.Context(), gpu.Request{Frames: repeated(sign(t), 1), Terms: []string{"stop sign"}})
	require.NoError(t, err)
	require.Equal(t, child.Pid, serving(t, w).Pid)
}

// program returns a folder whose main.js has this text. Only its owner can read it.
func program(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{needed[0]: text, needed[1]: "{}", needed[2]: ""} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// TestAnEndlessLoopIsReplaced has a child whose thread never answers, and which is alive.
func TestAnEndlessLoopIsReplaced(t *testing.T) {
	t.Parallel()
	dir := program(t, `
		const { Worker } = require('node:worker_threads')
		const server = require('node:http').createServer((request, response) => {
			if (request.method === 'POST') new Worker('for (;;);', { eval: true })
			else response.end('{}')
		})
		server.listen({ fd: 3 }, () => console.log(JSON.stringify({ threads: 1 })))`)
	w := start(t, Options{Dir: dir, Threads: 1, Timeout: 500 * time.Millisecond, Heartbeat: 100 * time.Millisecond})
	child := serving(t, w)
	w.mu.Lock()
	changed := w.changed
	w.mu.Unlock()
	_, err := w.Engine().Detect(t.Context(), gpu.Request{Frames: repeated(sign(t), 1), Terms: []string{"stop sign"}})
	requireUnavailable(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the limit by the clock is ten times as long")
	<-changed
	require.NotEqual(t, child.Pid, serving(t, w).Pid)
}

func TestCloseEndsTheChild(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 1})
	child := serving(t, w)
	w.Close()
	w.Close()
	require.ErrorIs(t, child.Signal(syscall.Signal(0)), os.ErrProcessDone)
	_, err := w.Engine().Detect(t.Context(), gpu.Request{Frames: [][]byte{{1}}, Terms: []string{"dog"}})
	requireUnavailable(t, err)
	requireUnavailable(t, w.Engine().Ready(t.Context()))
}

func TestStartingChild(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Threads: 1})
	requireUnavailable(t, w.Engine().Ready(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Engine().Info(ctx)
	require.ErrorIs(t, err, context.Canceled, "callers do not wait for the start")
}

func TestChildHasNoSecrets(t *testing.T) {
	t.Setenv("VQA_SECRET_FOR_TEST", "hunter2")
	w := start(t, Options{Threads: 1})
	child := serving(t, w)
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child.Pid), "environ"))
	require.NoError(t, err)
	require.Contains(t, string(environ), "PATH=")
	require.NotContains(t, string(environ), "hunter2")
}

func TestStartRefusesUnusableFolders(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Dir: t.TempDir()})
	require.ErrorContains(t, err, "make setup")
	_, err = Start(t.Context(), Options{NodePath: filepath.Join(t.TempDir(), "node")})
	require.ErrorContains(t, err, "Node")
}

func TestChildThatCannotStartIsRestarted(t *testing.T) {
	t.Parallel()
	dir := program(t, "console.error('broken on purpose'); process.exit(3)")
	said := &until{want: "broken on purpose", count: 2, reached: make(chan struct{})}
	w, err := Start(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(said, nil))})
	require.NoError(t, err)
	<-said.reached
	w.Close()
}

// until closes reached when the wanted text has been written count times.
type until struct {
	want    string
	count   int
	reached chan struct{}
}

func (u *until) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(u.want)) {
		if u.count--; u.count == 0 {
			close(u.reached)
		}
	}
	return len(p), nil
}

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	var got []string
	l := &lines{take: func(line []byte) { got = append(got, string(line)) }}
	for _, part := range []string{"on", "e\ntwo\n\nth", "ree\n", strings.Repeat("x", 3*maxLineBytes), "y\nend\n"} {
		n, err := l.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	require.Equal(t, []string{"one", "two", "", "three", strings.Repeat("x", maxLineBytes), "end"}, got)
}
