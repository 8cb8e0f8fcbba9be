package triton_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/gpu"
	"vqa/gpu/oip"
)

// loadTime bounds the time in which Python loads torch and the other packages.
const loadTime = 2 * time.Minute

// python is the interpreter with the packages of requirements.txt.
func python(t testing.TB) string {
	t.Helper()
	path, asked := os.LookupEnv("VQA_TRITON_PYTHON")
	if !asked {
		path = "python3"
	}
	const find = `import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ("torch", "transformers", "kserve", "PIL"))))`
	if err := exec.CommandContext(t.Context(), path, "-c", find).Run(); err != nil {
		if asked {
			t.Fatalf("%s has not the packages of requirements.txt: %v", path, err)
		}
		t.Skip("needs a Python with the packages of requirements.txt (2 GB): name it by VQA_TRITON_PYTHON")
	}
	return path
}

// command is a Python program of this folder. It has no network to fetch weights from.
func command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, python(t), args...)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	return cmd
}

// tiny makes a folder of random weights.
func tiny(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tiny")
	out, err := command(t.Context(), t, "testdata/tiny.py", folder).CombinedOutput()
	require.NoError(t, err, string(out))
	return folder
}

func TestDetector(t *testing.T) {
	t.Parallel()
	cmd := command(t.Context(), t, "detector_test.py")
	cmd.Env = append(cmd.Env, "TINY="+tiny(t))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "\nOK", "tests ran")
}

func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

// serve starts serve.py on random weights, on the CPU, and returns its addresses for HTTP
// and gRPC. It reports every score.
func serve(t *testing.T) (httpURL, grpcURL string) {
	t.Helper()
	return serveWeights(t, tiny(t), "--device", "cpu", "--threshold", "0")
}

func serveWeights(t testing.TB, source string, args ...string) (httpURL, grpcURL string) {
	t.Helper()
	httpPort, grpcPort := freePort(t), freePort(t)
	args = append([]string{"serve.py", "--source", source, "--http_port", httpPort, "--grpc_port", grpcPort}, args...)
	cmd := command(context.Background(), t, args...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		err := cmd.Wait()
		var exit *exec.ExitError
		if t.Failed() || err != nil && !errors.As(err, &exit) {
			t.Logf("serve.py: %v\n%s", err, log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	return "http://127.0.0.1:" + httpPort, "grpc://127.0.0.1:" + grpcPort
}

func picture(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{R: uint8(x * 3), G: uint8(y * 5), B: uint8(x * y), A: 255})
		}
	}
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, img, nil))
	return file.Bytes()
}

// awaitReady returns when the engine is ready.
func awaitReady(t testing.TB, engine gpu.Engine) {
	t.Helper()
	deadline := time.Now().Add(loadTime)
	for engine.Ready(t.Context()) != nil {
		require.True(t, time.Now().Before(deadline), "serve.py is not ready in time")
		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// TestServe asks the server over both protocols with the clients of package oip.
func TestServe(t *testing.T) {
	t.Parallel()
	httpURL, grpcURL := serve(t)
	engines := map[string]gpu.Engine{}
	for name, url := range map[string]string{"HTTP": httpURL, "gRPC": grpcURL} {
		pool, err := oip.Open([]string{url}, oip.PoolOptions{})
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		engines[name] = pool
	}
	req := gpu.Request{
		Frames: [][]byte{picture(t, 80, 40), picture(t, 64, 64)},
		Terms:  []string{"dog", "stop sign", strings.Repeat("long", 20)},
	}
	answers := map[string]gpu.Response{}
	for name, engine := range engines {
		awaitReady(t, engine)
		resp, err := engine.Detect(t.Context(), req)
		require.NoError(t, err, name)
		require.Equal(t, []bool{true, true, false}, resp.Known, name)
		require.NotEmpty(t, resp.Frames[0], name)
		require.NotEmpty(t, resp.Frames[1], name)
		answers[name] = resp

		again, err := engine.Detect(t.Context(), req)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(resp, again), "the same request, the same answer")

		posed := req
		posed.WantPose = true
		resp, err = engine.Detect(t.Context(), posed)
		require.NoError(t, err, name)
		require.Empty(t, cmp.Diff(answers[name], resp, cmpopts.EquateEmpty()), "no pose is known")

		_, err = engine.Detect(t.Context(), gpu.Request{Frames: [][]byte{[]byte("no picture")}, Terms: []string{"dog"}})
		_, refused := errors.AsType[*gpu.InferenceError](err)
		require.True(t, refused, "%s: %v", name, err)
		require.ErrorContains(t, err, "frame 0 is not a JPEG picture")
	}
	require.Empty(t, cmp.Diff(answers["HTTP"], answers["gRPC"]))

	info, err := engines["HTTP"].Info(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^owlv2@[0-9a-f]{12}$`, info.Weights)
	require.Regexp(t, `^[0-9a-f]{64}$`, info.Digest)
	require.Regexp(t, `^kserve/\d+\.\d+\.\d+$`, info.Worker)
	require.Equal(t, 32, info.Concurrency)
	require.Nil(t, info.Vocabulary, "it is open")
}

// TestServeRefusesRequestsWhenBusy sends more requests at once than may wait for the
// device. The refusals differ from failures, so that a pool tries another server.
func TestServeRefusesRequestsWhenBusy(t *testing.T) {
	t.Parallel()
	httpURL, grpcURL := serve(t)
	for name, url := range map[string]string{"HTTP": httpURL, "gRPC": grpcURL} {
		var engine gpu.Engine
		if name == "HTTP" {
			client, err := oip.New(url, oip.Options{})
			require.NoError(t, err)
			t.Cleanup(client.Close)
			engine = client
		} else {
			client, err := oip.NewGRPC(url, oip.Options{})
			require.NoError(t, err)
			t.Cleanup(client.Close)
			engine = client
		}
		awaitReady(t, engine)
		req := gpu.Request{Terms: []string{"dog"}}
		for range 16 {
			req.Frames = append(req.Frames, picture(t, 200, 150))
		}
		outcomes := make(chan error, 24)
		for range cap(outcomes) {
			go func() {
				_, err := engine.Detect(t.Context(), req)
				outcomes <- err
			}()
		}
		answered, refused := 0, 0
		for range cap(outcomes) {
			switch err := <-outcomes; {
			case err == nil:
				answered++
			case errors.Is(err, gpu.ErrSaturated):
				refused++
			default:
				t.Errorf("%s: %v", name, err)
			}
		}
		require.GreaterOrEqual(t, answered, 16, name)
		require.Positive(t, refused, name)
	}
}
