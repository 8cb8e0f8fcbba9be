package oip_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu/oip"
)

// output is one tensor of a test server's response.
type output struct {
	Name       string         `json:"name"`
	Datatype   string         `json:"datatype"`
	Shape      []int          `json:"shape"`
	Parameters map[string]int `json:"parameters,omitempty"`
	Data       any            `json:"data,omitempty"`
	raw        []byte
}

func floats(name string, shape []int, values ...float32) output {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return output{Name: name, Datatype: "FP32", Shape: shape, raw: raw}
}

func ints(name string, shape []int, values ...int32) output {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
	}
	return output{Name: name, Datatype: "INT32", Shape: shape, raw: raw}
}

func bools(name string, shape []int, values ...byte) output {
	return output{Name: name, Datatype: "BOOL", Shape: shape, raw: values}
}

// encode encodes outputs as raw tensors after a JSON header.
func encode(outputs []output) (headerLength int, body []byte) {
	for i, o := range outputs {
		if o.Data == nil {
			outputs[i].Parameters = map[string]int{"binary_data_size": len(o.raw)}
		}
	}
	head, err := json.Marshal(map[string]any{"model_name": "detect", "outputs": outputs})
	if err != nil {
		panic(err)
	}
	body = head
	for _, o := range outputs {
		body = append(body, o.raw...)
	}
	return len(head), body
}

// good is a valid response to a request of two frames and two terms.
func good() []output {
	return []output{
		floats("BOXES", []int{2, 4}, 0.1, 0.2, 0.3, 0.4, 0, 0, 1.0005, 1),
		floats("SCORES", []int{2}, 0.9, 0.25),
		ints("TERM_INDEX", []int{2}, 1, 0),
		ints("FRAME_INDEX", []int{2}, 1, 0),
		bools("KNOWN_TERMS", []int{2}, 1, 1),
	}
}

// serve starts a server whose inference route is the handler, and a client of it.
func serve(t *testing.T, opts oip.Options, infer http.HandlerFunc) *oip.Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/models/detect/infer", infer)
	return client(t, opts, mux)
}

func client(t *testing.T, opts oip.Options, handler http.Handler) *oip.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := oip.New(server.URL, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// answering returns a handler that answers with the outputs.
func answering(outputs []output) http.HandlerFunc {
	length, body := encode(outputs)
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Inference-Header-Content-Length", strconv.Itoa(length))
		_, _ = w.Write(body)
	}
}

// received is a request as a server decodes it.
type received struct {
	Inputs []struct {
		Name, Datatype string
		Shape          []int
		Data           []bool
		Parameters     struct {
			Size int `json:"binary_data_size"`
		}
		elements []string
	}
	Outputs    []struct{ Name string }
	Parameters struct {
		BinaryDataOutput bool `json:"binary_data_output"`
	}
}

// read decodes a request as a server does.
func read(r *http.Request) (received, error) {
	var got received
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return got, err
	}
	length, err := strconv.Atoi(r.Header.Get("Inference-Header-Content-Length"))
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(body[:length], &got); err != nil {
		return got, err
	}
	raw := body[length:]
	for i, in := range got.Inputs {
		part := raw[:in.Parameters.Size]
		raw = raw[in.Parameters.Size:]
		for len(part) > 0 {
			n := binary.LittleEndian.Uint32(part)
			got.Inputs[i].elements = append(got.Inputs[i].elements, string(part[4:4+n]))
			part = part[4+n:]
		}
	}
	if len(raw) > 0 {
		return got, fmt.Errorf("%d bytes too many", len(raw))
	}
	return got, nil
}
