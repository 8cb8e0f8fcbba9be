package main_test

import (
	"bufio"
	"bytes"
	"context"
	wire "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// faulty is the real worker behind a proxy that can spoil what it says.
type faulty struct {
	*httptest.Server
	worker http.Handler
	// fault answers requests in the place of the worker; it returns false to let one pass.
	fault atomic.Pointer[fault]
	// frames counts those that were asked about; asked has a signal for each request.
	frames atomic.Int64
	asked  chan struct{}
}

type fault func(w http.ResponseWriter, r *http.Request) bool

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	target, err := url.Parse("http://" + startWorker(t))
	require.NoError(t, err)
	f := &faulty{worker: httputil.NewSingleHostReverseProxy(target), asked: make(chan struct{}, 1)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// startWorker runs the embedded worker's program by itself and returns its address.
func startWorker(t *testing.T) string {
	t.Helper()
	// The service ends first, and the test's own context before both.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "node", filepath.Join("src", "main.js"), "--threads", "2")
	cmd.Dir = filepath.Join("..", "..", "gpu", "worker")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe() // its end tells the worker that this process is gone
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err, "the worker did not start")
	var said struct {
		Port int `json:"port"`
	}
	require.NoError(t, json.Unmarshal(line, &said), "%s", line)
	return "127.0.0.1:" + strconv.Itoa(said.Port)
}

// spoil sets the fault; nil mends the engine.
func (f *faulty) spoil(with fault) {
	if with == nil {
		f.fault.Store(nil)
		return
	}
	f.fault.Store(&with)
}

func isInfer(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/infer") }

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isInfer(r) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.frames.Add(framesOf(r, body))
		select {
		case f.asked <- struct{}{}:
		default:
		}
	}
	if with := f.fault.Load(); with != nil && (*with)(w, r) {
		return
	}
	f.worker.ServeHTTP(w, r)
}

// framesOf is how many frames a request is about.
func framesOf(r *http.Request, body []byte) int64 {
	length, err := strconv.Atoi(r.Header.Get("Inference-Header-Content-Length"))
	if err != nil || length > len(body) {
		return 0
	}
	var header struct {
		Inputs []struct {
			Name  string  `json:"name"`
			Shape []int64 `json:"shape"`
		} `json:"inputs"`
	}
	if json.Unmarshal(body[:length], &header) != nil {
		return 0
	}
	for _, in := range header.Inputs {
		if in.Name == "FRAMES" && len(in.Shape) > 0 {
			return in.Shape[0]
		}
	}
	return 0
}

// away breaks every connection off, as when no worker is up.
func away(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// hangs answers that it is ready, and never with an inference.
func hangs(_ http.ResponseWriter, r *http.Request) bool {
	if isInfer(r) {
		<-r.Context().Done()
		return true
	}
	return false
}

// says answers every inference with a status and a body.
func says(status int, body string) fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if isInfer(r) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
		return isInfer(r)
	}
}

// cutShort announces more than it sends.
func cutShort(w http.ResponseWriter, r *http.Request) bool {
	if isInfer(r) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"outputs":[`)
		panic(http.ErrAbortHandler)
	}
	return false
}

// unknown says of itself what cannot be read.
func unknown(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasSuffix(r.URL.Path, "/detect") {
		_, _ = io.WriteString(w, "It works!")
		return true
	}
	return false
}

// detects answers with one detection whose parts can be wrong.
type detects struct {
	score       float32
	frame, term int
	boxes       string
	terms       int
}

func (d detects) fault(w http.ResponseWriter, r *http.Request) bool {
	if !isInfer(r) {
		return false
	}
	known := strings.TrimSuffix(strings.Repeat("true,", d.terms), ",")
	header := fmt.Sprintf(`{"model_name":"detect","outputs":[
		{"name":"BOXES","datatype":"FP32","shape":%s,"data":[0.1,0.1,0.2,0.2]},
		{"name":"SCORES","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}},
		{"name":"TERM_INDEX","datatype":"INT32","shape":[1],"data":[%d]},
		{"name":"FRAME_INDEX","datatype":"INT32","shape":[1],"data":[%d]},
		{"name":"KNOWN_TERMS","datatype":"BOOL","shape":[%d],"data":[%s]},
		{"name":"COLORS","datatype":"FP32","shape":[1,11],"data":[0,0,0,0,0,0,0,0,0,0,0]}]}`, d.boxes, d.term, d.frame, d.terms, known)
	w.Header().Set("Inference-Header-Content-Length", strconv.Itoa(len(header)))
	_, _ = io.WriteString(w, header)
	_ = wire.Write(w, wire.LittleEndian, d.score)
	return true
}

// vocabulary is how many terms the worker knows: a look asks for all.
const vocabulary = 80

// sound is a detection that could be true.
func sound() detects { return detects{score: 0.9, boxes: "[1,4]", terms: vocabulary} }

func with(change func(*detects)) fault {
	d := sound()
	change(&d)
	return d.fault
}

// silence is no answer, from an engine that says it is ready.
func silence() map[string]fault {
	return map[string]fault{"a body that is cut short": cutShort, "no answer": hangs}
}

// garbage are answers that cannot be believed.
func garbage() map[string]fault {
	return map[string]fault{
		"an internal error":           says(http.StatusInternalServerError, `{"error":"out of memory"}`),
		"a refusal":                   says(http.StatusBadRequest, `{"error":"bad input"}`),
		"no JSON":                     says(http.StatusOK, "It works!"),
		"no outputs":                  says(http.StatusOK, `{"outputs":[]}`),
		"an endless answer":           says(http.StatusOK, strings.Repeat(" ", 17<<20)),
		"no metadata":                 unknown,
		"a score that is no number":   with(func(d *detects) { d.score = float32(math.NaN()) }),
		"a score beyond one":          with(func(d *detects) { d.score = 7 }),
		"boxes of another shape":      with(func(d *detects) { d.boxes = "[4]" }),
		"a frame that was not asked":  with(func(d *detects) { d.frame = 99 }),
		"a term that was not asked":   with(func(d *detects) { d.term = -1 }),
		"another number of terms":     with(func(d *detects) { d.terms = 3 }),
		"the frames of other batches": with(func(d *detects) { d.frame = 4 }),
	}
}
