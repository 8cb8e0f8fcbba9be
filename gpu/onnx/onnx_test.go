package onnx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// loadTime bounds the time in which Python loads its packages and a model.
const loadTime = time.Minute

// program is a Python program of this folder.
func program(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	python, err := filepath.Abs(filepath.Join("..", "..", ".cache", "onnx", "bin", "python"))
	require.NoError(t, err)
	if _, err := os.Stat(python); err != nil {
		t.Skip("needs the packages of requirements.txt: run make test-setup")
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// tiny writes the small models into a folder. They find red and blue squares of 64 pixels.
func tiny(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	out, err := program(t.Context(), t, "testdata/models.py", folder).CombinedOutput()
	require.NoError(t, err, string(out))
	return folder
}

// serve starts the server on the CPU and returns its address when it is ready.
func serve(t testing.TB, manifest string, args ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())

	cmd := program(context.Background(), t, append([]string{"serve.py", manifest, "--provider", "cpu", "--threads", "1", "--port", port}, args...)...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); t.Failed() || err != nil {
			t.Errorf("serve.py: %v\n%s", err, log.Bytes())
		}
	})
	url := "http://127.0.0.1:" + port
	engine := client(t, url)
	deadline := time.Now().Add(loadTime)
	for engine.Ready(t.Context()) != nil {
		require.True(t, time.Now().Before(deadline), "serve.py is not ready in time: %s", log.Bytes())
		time.Sleep(50 * time.Millisecond)
	}
	return url
}

func client(t testing.TB, url string) *oip.Client {
	t.Helper()
	c, err := oip.New(url, oip.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

var red, blue = color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}

// squares is a JPEG file of a dark frame with squares around the given points.
func squares(t testing.TB, width, height, side int, of map[image.Point]color.RGBA) []byte {
	t.Helper()
	frame := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(frame, frame.Bounds(), image.NewUniform(color.RGBA{R: 20, G: 20, B: 20, A: 255}), image.Point{}, draw.Src)
	for middle, c := range of {
		square := image.Rect(-side/2, -side/2, side/2, side/2).Add(middle)
		draw.Draw(frame, square, image.NewUniform(c), image.Point{}, draw.Src)
	}
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, frame, &jpeg.Options{Quality: 95}))
	return file.Bytes()
}

// TestDecodes asks a server for each way to decode about frames whose squares cover 64 pixels
// of the model's input.
func TestDecodes(t *testing.T) {
	t.Parallel()
	folder := tiny(t)
	for name, frame := range map[string]struct {
		width, height, side int
		// tolerance in pixels of the frame
		tolerance float64
		terms     []string
		known     []bool
	}{
		"centernet": {320, 180, 64, 3, []string{"blue square", "red square", "unicorn"}, []bool{true, true, false}},
		"yolo":      {640, 360, 128, 20, []string{"blue square", "red square", "unicorn"}, []bool{true, true, false}},
		"single":    {640, 360, 128, 20, []string{"blue square", "red square", "unicorn"}, []bool{true, true, false}},
		"detr":      {640, 512, 128, 20, []string{"blue square", "red square", "unicorn"}, []bool{true, true, false}},
		"open":      {640, 512, 128, 20, []string{"anything", "r", "more words than fit here"}, []bool{true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := client(t, serve(t, filepath.Join(folder, name+".toml")))
			w, h := frame.width, frame.height
			redAt, blueAt := image.Pt(w/4, h/2), image.Pt(w*7/10, h/2)
			resp, err := engine.Detect(t.Context(), gpu.Request{
				Frames: [][]byte{
					squares(t, w, h, frame.side, map[image.Point]color.RGBA{redAt: red, blueAt: blue}),
					squares(t, w, h, frame.side, nil),
					squares(t, w, h, frame.side, map[image.Point]color.RGBA{blueAt: blue}),
				},
				Terms: frame.terms, WantShades: true, WantPose: true,
			})
			require.NoError(t, err)
			require.Equal(t, frame.known, resp.Known)
			require.Len(t, resp.Frames[0], 2)
			require.Empty(t, resp.Frames[1])
			require.Len(t, resp.Frames[2], 1)
			require.Equal(t, 0, resp.Frames[2][0].Term)
			for _, d := range resp.Frames[0] {
				middle := []image.Point{blueAt, redAt}[d.Term]
				half := frame.side / 2
				for _, edge := range []struct{ want, got float64 }{
					{float64(middle.X - half), d.Box.X1 * float64(w)}, {float64(middle.X + half), d.Box.X2 * float64(w)},
					{float64(middle.Y - half), d.Box.Y1 * float64(h)}, {float64(middle.Y + half), d.Box.Y2 * float64(h)},
				} {
					require.InDelta(t, edge.want, edge.got, frame.tolerance, "%+v", d)
				}
				require.Greater(t, d.Score, .5)
				require.Nil(t, d.Keypoints)
			}
			require.Len(t, resp.Shades, 3)
			require.NotEqual(t, resp.Shades[0], resp.Shades[1])
			require.EqualValues(t, 2, resp.Shades[1][0], "20 of 255")
		})
	}
}

func TestDescribesTheModel(t *testing.T) {
	t.Parallel()
	folder := tiny(t)
	info, err := client(t, serve(t, filepath.Join(folder, "yolo.toml"), "--batch", "1,4")).Info(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{64}$`, info.Digest)
	require.Regexp(t, `^vqa-onnx/[\d.]+-cpu$`, info.Worker)
	want := gpu.Info{Name: "detect", Version: "1", Weights: "yolo", License: "none", Vocabulary: []string{"red square", "blue square"}, Shades: true, Rotations: true, Concurrency: 8}
	require.Empty(t, cmp.Diff(want, info, cmpopts.IgnoreFields(gpu.Info{}, "Digest", "Worker", "Colors")))
	require.Len(t, info.Colors, 55)

	info, err = client(t, serve(t, filepath.Join(folder, "open.toml"))).Info(t.Context())
	require.NoError(t, err)
	require.Nil(t, info.Vocabulary, "it is open")
}

// TestRefusesManifests changes one line of a manifest. The server must say what is wrong and end.
func TestRefusesManifests(t *testing.T) {
	t.Parallel()
	folder := tiny(t)
	refused(t, "movenet is for --pose", "models/movenet.toml")
	refused(t, "movenet is for --pose", filepath.Join(folder, "yolo.toml"), "--pose", filepath.Join(folder, "detr.toml"))
	refused(t, "--provider tensorrt: this onnxruntime has only ", filepath.Join(folder, "yolo.toml"), "--provider", "tensorrt")
	for name, change := range map[string]struct{ of, old, new, says string }{
		"checksum":         {"yolo", `sha256 = "`, `sha256 = "0`, "sha256: yolo.onnx has "},
		"file":             {"yolo", `file = "yolo.onnx"`, `file = "none.onnx"`, "none.onnx"},
		"unknown field":    {"yolo", `pad = 114`, `padding = 114`, "input.padding: unknown field"},
		"missing":          {"yolo", `license = "none"`, ``, "license: required"},
		"type":             {"yolo", `pad = 114`, `pad = "gray"`, "input.pad: wrong type"},
		"choice":           {"yolo", `colors = "BGR"`, `colors = "CMYK"`, "input.colors: must be one of RGB, BGR"},
		"way":              {"yolo", `decode = "yolo"`, `decode = "ssd"`, "output.decode: must be one of centernet"},
		"outputs":          {"detr", `names = ["logits", "pred_boxes"]`, `names = ["logits"]`, "output.names: detr has 2 outputs"},
		"name of output":   {"yolo", `names = ["output0"]`, `names = ["output1"]`, "output.names: output1 is not an output; the model has output0"},
		"name of input":    {"yolo", `name = "x"`, `name = "y"`, "input.name, terms.names: the model has the inputs x"},
		"labels":           {"yolo", `"blue square"]`, `"blue square", "cat"]`, "labels: 3 names, but the model has 2 classes"},
		"comma":            {"yolo", `"blue square"`, `"blue, square"`, "labels: a name must not have a comma"},
		"activation":       {"detr", `activation = "softmax"`, `activation = "sigmoid"`, "labels: 2 names, but the model has 3 classes"},
		"other way":        {"detr", `["logits", "pred_boxes"]`, `["pred_boxes", "logits"]`, "output: detr does not fit outputs of the shapes"},
		"size and longest": {"centernet", `longest = 320`, "longest = 320\nsize = [320, 320]", "input: give size or longest"},
		"size":             {"yolo", `size = [320, 256]`, `size = [320, 128]`, "input: the model refuses a picture"},
		"labels and terms": {"open", `license = "none"`, "license = \"none\"\nlabels = [\"cat\"]", "give labels, or terms"},
		"tokenizer":        {"open", `"tokenizer.json"`, `"none.json"`, "terms.tokenizer: "},
		"no TOML":          {"yolo", `[input]`, `[input`, "yolo-no_TOML.toml: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(folder, change.of+".toml"))
			require.NoError(t, err)
			changed := strings.Replace(string(text), change.old, change.new, 1)
			require.NotEqual(t, string(text), changed)
			path := filepath.Join(folder, change.of+"-"+strings.ReplaceAll(name, " ", "_")+".toml")
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
			refused(t, change.says, path)
		})
	}
}

// refused starts the server, which must end with one line.
func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), loadTime)
	defer cancel()
	out, err := program(ctx, t, append([]string{"serve.py", "--provider", "cpu", "--port", "1"}, args...)...).CombinedOutput()
	exit, ended := errors.AsType[*exec.ExitError](err)
	require.True(t, ended, "%v", err)
	require.Equal(t, 1, exit.ExitCode(), "%s", out)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := lines[len(lines)-1]
	require.True(t, strings.HasPrefix(last, "serve.py: "), "%s", out)
	require.Contains(t, last, says)
	require.NotContains(t, string(out), "Traceback")
}

// TestEndsSlowBodies sends only the head of a request.
func TestEndsSlowBodies(t *testing.T) {
	t.Parallel()
	url := serve(t, filepath.Join(tiny(t), "yolo.toml"), "--read-s", "0.2")
	body, stop := io.Pipe()
	defer func() { _ = stop.Close() }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v2/models/detect/infer", body)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

// post sends an inference and returns the status and the error.
func post(t *testing.T, url, header, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v2/models/detect/infer", strings.NewReader(body))
	require.NoError(t, err)
	if header != "" {
		req.Header.Set("Inference-Header-Content-Length", header)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	var answer struct {
		Error string `json:"error"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	return resp.StatusCode, answer.Error
}

func TestRefusesRequests(t *testing.T) {
	t.Parallel()
	url := serve(t, filepath.Join(tiny(t), "yolo.toml"))
	const terms, frames = `{"name":"TERMS","datatype":"BYTES","shape":[1],"data":["red square"]}`, `{"name":"FRAMES","datatype":"BYTES","shape":[1],"data":["x"]}`
	inputs := func(list ...string) string { return `{"inputs":[` + strings.Join(list, ",") + `]}` }
	for name, c := range map[string]struct{ header, body, says string }{
		"no JSON":          {"", `{`, "the header is not a JSON object"},
		"header too long":  {"9", `{}`, "Inference-Header-Content-Length does not fit the body"},
		"header no number": {"-1", `{}`, "Inference-Header-Content-Length does not fit the body"},
		"no inputs":        {"", `{}`, "inputs: required"},
		"no terms":         {"", inputs(frames), "input TERMS: required"},
		"no frames":        {"", inputs(terms), "input FRAMES: required"},
		"twice":            {"", inputs(terms, terms), "input TERMS occurs twice"},
		"term twice":       {"", inputs(frames, `{"name":"TERMS","datatype":"BYTES","shape":[2],"data":["a","a"]}`), "input TERMS: a term occurs twice"},
		"shape":            {"", inputs(frames, `{"name":"TERMS","datatype":"BYTES","shape":[2],"data":["a"]}`), "input TERMS: 1 elements, but its shape has 2"},
		"negative shape":   {"", inputs(frames, `{"name":"TERMS","datatype":"BYTES","shape":[-1],"data":["a"]}`), "input TERMS: invalid shape"},
		"datatype":         {"", inputs(frames, `{"name":"TERMS","datatype":"INT32","shape":[1],"data":[1]}`), "input TERMS: datatype is INT32, must be BYTES"},
		"no frame":         {"", inputs(terms, `{"name":"FRAMES","datatype":"BYTES","shape":[0],"data":[]}`), "input FRAMES: 1 to 64 frames"},
		"flag":             {"", inputs(terms, frames, `{"name":"WANT_POSE","datatype":"BOOL","shape":[2],"data":[true]}`), "input WANT_POSE: 1 elements, but its shape has 2"},
		"no JPEG":          {"", inputs(terms, `{"name":"FRAMES","datatype":"BYTES","shape":[1],"data":["hello"]}`), "frame 0 is not a JPEG picture"},
		"size":             {"", inputs(terms, `{"name":"FRAMES","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":9}}`), "input FRAMES: binary_data_size does not fit the body"},
		"bytes after it":   {strconv.Itoa(len(inputs(terms, frames))), inputs(terms, frames) + "?", "the body has bytes after the last input"},
		"output":           {"", `{"inputs":[` + terms + "," + frames + `],"outputs":[{"name":"MASKS"}]}`, "unknown output MASKS"},
	} {
		status, text := post(t, url, c.header, c.body)
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Contains(t, text, c.says, name)
	}
	_, err := client(t, url).Detect(t.Context(), gpu.Request{Frames: [][]byte{squares(t, 64, 64, 8, nil), []byte("no picture")}, Terms: []string{"red square"}})
	_, refused := errors.AsType[*gpu.InferenceError](err)
	require.True(t, refused, "%v", err)
	require.ErrorContains(t, err, "frame 1 is not a JPEG picture")
}
