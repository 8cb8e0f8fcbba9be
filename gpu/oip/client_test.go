package oip_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/gpu"
	"vqa/gpu/oip"
)

var approximately = cmpopts.EquateApprox(0, 1e-6)

func request() gpu.Request {
	return gpu.Request{Frames: [][]byte{[]byte("jpeg a"), []byte("jpeg bb")}, Terms: []string{"dog", "cat"}}
}

func TestDetectSendsFramesAndReadsDetections(t *testing.T) {
	t.Parallel()
	requests := make(chan received, 1)
	respond := answering(good())
	c := serve(t, oip.Options{}, func(w http.ResponseWriter, r *http.Request) {
		got, err := read(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		requests <- got
		respond(w, r)
	})
	resp, err := c.Detect(t.Context(), request())
	require.NoError(t, err)
	want := gpu.Response{Known: []bool{true, true}, Frames: [][]evidence.Detection{
		{{Term: 0, Score: 0.25, Box: evidence.Box{X2: 1, Y2: 1}}},
		{{Term: 1, Score: 0.9, Box: evidence.Box{X1: 0.1, Y1: 0.2, X2: 0.3, Y2: 0.4}}},
	}}
	require.Empty(t, cmp.Diff(want, resp, approximately))

	got := <-requests
	require.Len(t, got.Inputs, 2, "no WANT_POSE unless asked for")
	require.Equal(t, "FRAMES", got.Inputs[0].Name)
	require.Equal(t, "BYTES", got.Inputs[0].Datatype)
	require.Equal(t, []int{2}, got.Inputs[0].Shape)
	require.Equal(t, []string{"jpeg a", "jpeg bb"}, got.Inputs[0].elements)
	require.Equal(t, []string{"dog", "cat"}, got.Inputs[1].elements)
	require.True(t, got.Parameters.BinaryDataOutput)
	require.Len(t, got.Outputs, 5)

	req := request()
	req.WantRotations = true
	_, err = c.Detect(t.Context(), req)
	require.NoError(t, err)
	got = <-requests
	require.Equal(t, "WANT_ROTATIONS", got.Inputs[2].Name)
	require.Equal(t, []bool{true}, got.Inputs[2].Data)
}

func TestDetectReadsPosesAndColors(t *testing.T) {
	t.Parallel()
	pose := make([]float32, 2*17*3)
	pose[0], pose[1], pose[2] = 0.5, 0.25, 0.75
	outputs := append(good(), floats("KEYPOINTS", []int{2, 17, 3}, pose...), floats("COLORS", []int{2, 2}, 0.25, 0.75, 1, 0))
	c := serve(t, oip.Options{}, answering(outputs))
	req := request()
	req.WantPose, req.WantColors = true, true
	resp, err := c.Detect(t.Context(), req)
	require.NoError(t, err)
	first, second := resp.Frames[1][0], resp.Frames[0][0]
	require.Len(t, first.Keypoints, 17)
	require.Equal(t, evidence.Keypoint{X: 0.5, Y: 0.25, Score: 0.75}, first.Keypoints[0])
	require.Equal(t, []float32{0.25, 0.75}, first.Colors)
	require.Nil(t, second.Keypoints, "all scores 0: no pose was estimated")
}

func TestDetectReadsJSONTensors(t *testing.T) {
	t.Parallel()
	c := serve(t, oip.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"outputs": [
			{"name": "BOXES", "datatype": "FP32", "shape": [1, 4], "data": [0.1, 0.2, 0.3, 0.4]},
			{"name": "SCORES", "datatype": "FP32", "shape": [1], "data": [0.5]},
			{"name": "TERM_INDEX", "datatype": "INT32", "shape": [1], "data": [0]},
			{"name": "FRAME_INDEX", "datatype": "INT32", "shape": [1], "data": [0]},
			{"name": "KNOWN_TERMS", "datatype": "BOOL", "shape": [2], "data": [true, false]}]}`))
	})
	resp, err := c.Detect(t.Context(), request())
	require.NoError(t, err)
	want := gpu.Response{Known: []bool{true, false}, Frames: [][]evidence.Detection{
		{{Score: 0.5, Box: evidence.Box{X1: 0.1, Y1: 0.2, X2: 0.3, Y2: 0.4}}}, nil,
	}}
	require.Empty(t, cmp.Diff(want, resp, approximately))
}

// TestDetectRefusesInvalidResponses changes one output of a valid response at a time.
func TestDetectRefusesInvalidResponses(t *testing.T) {
	t.Parallel()
	nan := float32(0)
	nan /= nan
	cases := map[string]output{
		"a box outside the frame":     floats("BOXES", []int{2, 4}, 0.1, 0.2, 1.3, 0.4, 0, 0, 1, 1),
		"a box with swapped corners":  floats("BOXES", []int{2, 4}, 0.3, 0.2, 0.1, 0.4, 0, 0, 1, 1),
		"a box of NaN":                floats("BOXES", []int{2, 4}, nan, 0.2, 0.1, 0.4, 0, 0, 1, 1),
		"a box of five corners":       floats("BOXES", []int{2, 5}, make([]float32, 10)...),
		"one box is missing":          floats("BOXES", []int{1, 4}, 0, 0, 1, 1),
		"boxes of a wrong type":       ints("BOXES", []int{2, 4}, make([]int32, 8)...),
		"fewer bytes than the shape":  floats("BOXES", []int{2, 4}, 0, 0, 1, 1),
		"a score over 1":              floats("SCORES", []int{2}, 1.5, 0.2),
		"a negative score":            floats("SCORES", []int{2}, -0.5, 0.2),
		"an infinite score":           floats("SCORES", []int{2}, 0.5, float32(math.Inf(1))),
		"scores of two dimensions":    floats("SCORES", []int{2, 1}, 0.5, 0.5),
		"a negative shape":            floats("SCORES", []int{-1}),
		"a huge shape":                floats("SCORES", []int{1 << 40, 1 << 40}),
		"a term that was not asked":   ints("TERM_INDEX", []int{2}, 2, 0),
		"a negative term":             ints("TERM_INDEX", []int{2}, -1, 0),
		"a frame that was not sent":   ints("FRAME_INDEX", []int{2}, 0, 2),
		"a detection of an unknown":   bools("KNOWN_TERMS", []int{2}, 1, 0),
		"one known of two terms":      bools("KNOWN_TERMS", []int{1}, 1),
		"JSON data of a wrong length": {Name: "SCORES", Datatype: "FP32", Shape: []int{2}, Data: []float32{0.5}},
		"JSON data of a wrong type":   {Name: "SCORES", Datatype: "FP32", Shape: []int{2}, Data: []string{"a", "b"}},
	}
	for name, altered := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outputs := good()
			for i, o := range outputs {
				if o.Name == altered.Name {
					outputs[i] = altered
				}
			}
			requireInferenceError(t, serve(t, oip.Options{}, answering(outputs)))
		})
	}
	for i, o := range good() {
		t.Run("without "+o.Name, func(t *testing.T) {
			t.Parallel()
			outputs := good()
			requireInferenceError(t, serve(t, oip.Options{}, answering(append(outputs[:i], outputs[i+1:]...))))
		})
	}
}

func TestDetectRefusesGarbage(t *testing.T) {
	t.Parallel()
	length, body := encode(good())
	cases := map[string]struct{ length, body string }{
		"text":                    {"", "hello"},
		"nothing":                 {"", ""},
		"an empty object":         {"", "{}"},
		"header beyond the body":  {"99999", string(body)},
		"negative header":         {"-1", string(body)},
		"bytes after the tensors": {"", `{"outputs":[]}` + "xx"},
		"an output twice":         {"", `{"outputs":[{"name":"A","shape":[0]},{"name":"A","shape":[0]}]}`},
		"cut off":                 {"", string(body[:length+3])},
		"over the limit":          {"", strings.Repeat(" ", 5000)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireInferenceError(t, serve(t, oip.Options{MaxResponseBytes: 4096}, func(w http.ResponseWriter, _ *http.Request) {
				if tc.length != "" {
					w.Header().Set("Inference-Header-Content-Length", tc.length)
				}
				_, _ = w.Write([]byte(tc.body))
			}))
		})
	}
}

func requireInferenceError(t *testing.T, c *oip.Client) {
	t.Helper()
	_, err := c.Detect(t.Context(), request())
	_, ok := errors.AsType[*gpu.InferenceError](err)
	require.True(t, ok, "%v", err)
}

func TestStatusesMapToErrors(t *testing.T) {
	t.Parallel()
	for status, unavailable := range map[int]bool{
		302: true, 404: true, 408: true, 429: true, 502: true, 503: true, 504: true,
		204: true, 400: false, 401: false, 413: false, 500: false,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			c := serve(t, oip.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				if status != 204 {
					_, _ = w.Write([]byte(`{"error": "frame 3 is odd"}`))
				}
			})
			_, err := c.Detect(t.Context(), request())
			_, isUnavailable := errors.AsType[*gpu.UnavailableError](err)
			_, isInference := errors.AsType[*gpu.InferenceError](err)
			require.Equal(t, unavailable, isUnavailable, "%v", err)
			require.Equal(t, !unavailable, isInference, "%v", err)
			if status != 204 {
				require.ErrorContains(t, err, "frame 3 is odd")
			}
		})
	}
}

func TestNoServerIsUnavailable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	away, err := oip.New("http://"+listener.Addr().String(), oip.Options{})
	require.NoError(t, err)
	_, err = away.Detect(t.Context(), request())
	requireUnavailable(t, err)

	down, err := oip.New("http://localhost", oip.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("starting")
	}})
	require.NoError(t, err)
	requireUnavailable(t, down.Ready(t.Context()))
}

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	_, ok := errors.AsType[*gpu.UnavailableError](err)
	require.True(t, ok, "%v", err)
}

func TestCutConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"before the answer": "",
		"inside the answer": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"outputs\"",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, oip.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(sent))
				_ = conn.Close()
			})
			_, err := c.Detect(t.Context(), request())
			requireUnavailable(t, err)
		})
	}
}

func TestSlowServer(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) {
		// The server notices that its client left only after it has read the body.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}

	_, err := serve(t, oip.Options{Timeout: 20 * time.Millisecond}, hang).Detect(t.Context(), request())
	requireUnavailable(t, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ctx, cancel := context.WithCancel(t.Context())
	arrived := make(chan struct{})
	c := serve(t, oip.Options{}, func(w http.ResponseWriter, r *http.Request) { close(arrived); hang(w, r) })
	go func() { <-arrived; cancel() }()
	_, err = c.Detect(ctx, request())
	require.ErrorIs(t, err, context.Canceled)
	_, isUnavailable := errors.AsType[*gpu.UnavailableError](err)
	require.False(t, isUnavailable, "the caller went away, not the engine")
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	c := serve(t, oip.Options{}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for name, req := range map[string]gpu.Request{
		"no frames":       {Terms: []string{"dog"}},
		"too many frames": {Frames: make([][]byte, gpu.MaxFrames+1), Terms: []string{"dog"}},
		"no terms":        {Frames: [][]byte{{1}}},
		"an empty frame":  {Frames: [][]byte{{}}, Terms: []string{"dog"}},
		"an empty term":   {Frames: [][]byte{{1}}, Terms: []string{""}},
	} {
		_, err := c.Detect(t.Context(), req)
		_, ok := errors.AsType[*gpu.InferenceError](err)
		require.True(t, ok, "%s: %v", name, err)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	status := func(server, model int) *oip.Client {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(server) })
		mux.HandleFunc("GET /v2/models/detect/ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(model) })
		return client(t, oip.Options{}, mux)
	}
	require.NoError(t, status(200, 200).Ready(t.Context()))
	requireUnavailable(t, status(400, 200).Ready(t.Context()))
	requireUnavailable(t, status(200, 503).Ready(t.Context()))
}

// digest is a SHA-256 as a server reports it.
var digest = strings.Repeat("0a", 32)

func TestInfo(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		metadata, config string
		want             gpu.Info
	}{
		"parameters in the metadata": {
			metadata: `{"name":"detect","versions":["1","2"],"parameters":{"model":"m-512","digest":"` + digest + `","worker":"vqa-worker/1.2.3","license":"MIT","vocabulary":"dog, cat","colors":"red","formats":"jpeg,ppm","max_concurrency":4}}`,
			want:     gpu.Info{Name: "detect", Version: "2", Weights: "m-512", Digest: digest, Worker: "vqa-worker/1.2.3", License: "MIT", Vocabulary: []string{"dog", "cat"}, Colors: []string{"red"}, PPM: true, Concurrency: 4},
		},
		"parameters in Triton's configuration": {
			metadata: `{"name":"detect","versions":["1"]}`,
			config:   `{"parameters":{"vocabulary":{"string_value":"dog"},"max_concurrency":{"string_value":"99999"}}}`,
			want:     gpu.Info{Name: "detect", Version: "1", Weights: "detect", Vocabulary: []string{"dog"}, Concurrency: 1024},
		},
		"an invalid digest and a worker name that is too long": {
			metadata: `{"name":"detect","parameters":{"digest":"ABC","worker":"` + strings.Repeat("w", 101) + `","license":"` + strings.Repeat("l", 101) + `"}}`,
			want:     gpu.Info{Name: "detect", Weights: "detect", Concurrency: 1},
		},
		"no parameters at all": {
			metadata: `{}`,
			want:     gpu.Info{Name: "detect", Weights: "detect", Concurrency: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v2/models/detect", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tc.metadata)) })
			if tc.config != "" {
				mux.HandleFunc("GET /v2/models/detect/config", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tc.config)) })
			}
			got, err := client(t, oip.Options{}, mux).Info(t.Context())
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, got))
		})
	}
}

func TestNewRefusesOtherURLs(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "localhost:8000", "ftp://host", "http://", "http://host?x=1", "http://host/#x", "http://a b"} {
		_, err := oip.New(raw, oip.Options{})
		require.Error(t, err, raw)
	}
	_, err := oip.New("ftp://user:hunter2@host", oip.Options{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")

	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer server.Close()
	c, err := oip.New(server.URL+"/prefix/", oip.Options{})
	require.NoError(t, err)
	_, _ = c.Info(t.Context()) // it is no model
	require.Equal(t, "/prefix/v2/models/detect", <-asked)
}
