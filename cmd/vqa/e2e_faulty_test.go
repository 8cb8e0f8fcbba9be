package main_test

import (
	"bytes"
	wire "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// faulty is the real worker behind a proxy that can spoil its responses.
type faulty struct {
	*httptest.Server
	worker http.Handler
	// fault answers requests in place of the worker. It returns false to let a request pass.
	fault atomic.Pointer[fault]
	// frames counts the frames of all requests; asked gets a signal for each request.
	frames atomic.Int64
	asked  chan struct{}
}

type fault func(w http.ResponseWriter, r *http.Request) bool

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	worker, err := sharedWorker()
	require.NoError(t, err)
	target := &url.URL{Scheme: "http", Host: worker.addr}
	f := &faulty{worker: httputil.NewSingleHostReverseProxy(target), asked: make(chan struct{}, 1)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// sameWorker is another proxy of the same worker, for another node.
func sameWorker(t *testing.T, f *faulty) *faulty {
	t.Helper()
	other := &faulty{worker: f.worker, asked: make(chan struct{}, 1)}
	other.Server = httptest.NewServer(other)
	t.Cleanup(other.Close)
	return other
}

// spoil sets the fault; nil removes it.
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

// framesOf counts the frames of a request.
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

// away aborts every connection, as if no worker were running.
func away(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// hangs reports that it is ready, but never answers a request for inference.
func hangs(_ http.ResponseWriter, r *http.Request) bool {
	if isInfer(r) {
		<-r.Context().Done()
		return true
	}
	return false
}

// says answers every request for inference with a status and a body.
func says(status int, body string) fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if isInfer(r) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
		return isInfer(r)
	}
}

// cutShort sends less than its Content-Length.
func cutShort(w http.ResponseWriter, r *http.Request) bool {
	if isInfer(r) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"outputs":[`)
		panic(http.ErrAbortHandler)
	}
	return false
}

// unknown sends metadata that cannot be parsed.
func unknown(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasSuffix(r.URL.Path, "/detect") {
		_, _ = io.WriteString(w, "It works!")
		return true
	}
	return false
}

// detects answers with one detection, any part of which can be wrong.
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

// classes is the number of classes of the worker. Each request asks for all of them.
const classes = 80

// sound is a valid detection.
func sound() detects { return detects{score: 0.9, boxes: "[1,4]", terms: classes} }

func with(change func(*detects)) fault {
	d := sound()
	change(&d)
	return d.fault
}

// silence has the faults of an engine that is ready but does not answer.
func silence() map[string]fault {
	return map[string]fault{"a body that is cut short": cutShort, "no answer": hangs}
}

// garbage has responses that cannot be true.
func garbage() map[string]fault {
	return map[string]fault{
		"an internal error":           says(http.StatusInternalServerError, `{"error":"out of memory"}`),
		"a refusal":                   says(http.StatusBadRequest, `{"error":"bad input"}`),
		"not JSON":                    says(http.StatusOK, "It works!"),
		"no outputs":                  says(http.StatusOK, `{"outputs":[]}`),
		"an endless answer":           says(http.StatusOK, strings.Repeat(" ", 17<<20)),
		"no metadata":                 unknown,
		"a score that is NaN":         with(func(d *detects) { d.score = float32(math.NaN()) }),
		"a score beyond one":          with(func(d *detects) { d.score = 7 }),
		"boxes of another shape":      with(func(d *detects) { d.boxes = "[4]" }),
		"a frame that was not asked":  with(func(d *detects) { d.frame = 99 }),
		"a term that was not asked":   with(func(d *detects) { d.term = -1 }),
		"another number of terms":     with(func(d *detects) { d.terms = 3 }),
		"the frames of other batches": with(func(d *detects) { d.frame = 4 }),
	}
}
