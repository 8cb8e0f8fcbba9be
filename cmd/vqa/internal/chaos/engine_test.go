package chaos_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// engineCount engines serve all nodes.
	engineCount = 2
	// engineEnv makes this test binary an engine that listens on the address.
	engineEnv = "CHAOS_ENGINE"
	// engineTakes is how long a request takes, so that faults meet analyses that are at work.
	engineTakes = 1500 * time.Millisecond
	// shownTerm is what the engine finds in every frame, and doctorTerm what "vqa doctor" looks for. It
	// finds nothing else.
	shownTerm, doctorTerm = "stop sign", "sports ball"
)

// runEngine serves the Open Inference Protocol until standard input ends, as it does when the test is
// killed. Each answer says that a
// stop sign is in every frame.
func runEngine(addr string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	mux := http.NewServeMux()
	ok := func(http.ResponseWriter, *http.Request) {}
	mux.HandleFunc("GET /v2/health/live", ok)
	mux.HandleFunc("GET /v2/health/ready", ok)
	mux.HandleFunc("GET /v2/models/detect/ready", ok)
	mux.HandleFunc("GET /v2/models/detect", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "detect", "versions": []string{"1"}, "platform": "test",
			"outputs": []map[string]string{{"name": "BOXES"}, {"name": "SCORES"}, {"name": "TERM_INDEX"}, {"name": "FRAME_INDEX"}, {"name": "KNOWN_TERMS"}},
			"parameters": map[string]string{
				"vocabulary": shownTerm + "," + doctorTerm + ",dog,cat,person,car", "model": "chaos", "digest": strings.Repeat("c", 64), "max_concurrency": "8",
			},
		})
	})
	mux.HandleFunc("POST /v2/models/detect/infer", infer)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

func infer(w http.ResponseWriter, r *http.Request) {
	frames, terms, err := asked(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(engineTakes):
	case <-r.Context().Done():
		return
	}
	var boxes, scores, termIndex, frameIndex, known []byte
	found := 0
	for term, name := range terms {
		if name != shownTerm && name != doctorTerm {
			continue
		}
		for frame := range frames {
			found++
			for _, v := range []float32{0.4, 0.3, 0.6, 0.6} {
				boxes = binary.LittleEndian.AppendUint32(boxes, math.Float32bits(v))
			}
			scores = binary.LittleEndian.AppendUint32(scores, math.Float32bits(0.95))
			termIndex = binary.LittleEndian.AppendUint32(termIndex, uint32(term))
			frameIndex = binary.LittleEndian.AppendUint32(frameIndex, uint32(frame))
		}
	}
	for range terms {
		known = append(known, 1)
	}
	type tensor struct {
		Name       string         `json:"name"`
		Datatype   string         `json:"datatype"`
		Shape      []int          `json:"shape"`
		Parameters map[string]int `json:"parameters"`
	}
	size := func(raw []byte) map[string]int { return map[string]int{"binary_data_size": len(raw)} }
	head, err := json.Marshal(map[string]any{"model_name": "detect", "outputs": []tensor{
		{"BOXES", "FP32", []int{found, 4}, size(boxes)},
		{"SCORES", "FP32", []int{found}, size(scores)},
		{"TERM_INDEX", "INT32", []int{found}, size(termIndex)},
		{"FRAME_INDEX", "INT32", []int{found}, size(frameIndex)},
		{"KNOWN_TERMS", "BOOL", []int{len(terms)}, size(known)},
	}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Inference-Header-Content-Length", strconv.Itoa(len(head)))
	_, _ = w.Write(slices.Concat(head, boxes, scores, termIndex, frameIndex, known))
}

// asked decodes the number of frames and the terms of a request.
func asked(r *http.Request) (frames int, terms []string, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, nil, err
	}
	length, err := strconv.Atoi(r.Header.Get("Inference-Header-Content-Length"))
	if err != nil || length > len(body) {
		return 0, nil, fmt.Errorf("the length of the header is missing")
	}
	var head struct {
		Inputs []struct {
			Name       string `json:"name"`
			Shape      []int  `json:"shape"`
			Parameters struct {
				Size int `json:"binary_data_size"`
			} `json:"parameters"`
		} `json:"inputs"`
	}
	if err := json.Unmarshal(body[:length], &head); err != nil {
		return 0, nil, err
	}
	raw := body[length:]
	for _, in := range head.Inputs {
		if in.Parameters.Size > len(raw) {
			return 0, nil, fmt.Errorf("%s is cut off", in.Name)
		}
		part := raw[:in.Parameters.Size]
		raw = raw[in.Parameters.Size:]
		switch in.Name {
		case "FRAMES":
			frames = in.Shape[0]
		case "TERMS":
			for len(part) >= 4 {
				n := int(binary.LittleEndian.Uint32(part))
				terms = append(terms, string(part[4:4+n]))
				part = part[4+n:]
			}
		}
	}
	return frames, terms, nil
}

// engineAddr is the address of this process, when it is an engine.
func engineAddr() string { return os.Getenv(engineEnv) }
