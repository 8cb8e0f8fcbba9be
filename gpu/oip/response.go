package oip

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"vqa/domain/evidence"
	"vqa/gpu"
)

const (
	maxColors = 64
	// maxRows bounds the detections of one response.
	maxRows = 1 << 16
	// tolerance is how far beyond 0..1 rounding may move a number; it is clamped.
	tolerance = 1e-3
)

// tensors are the outputs of a response, by name. The length of each agrees with its shape.
type tensors map[string]tensor

type tensor struct {
	datatype string
	shape    []int
	floats   []float32
	ints     []int32
	bools    []bool
	bytes    []byte
}

// decodeResponse reads and checks the response to req.
func decodeResponse(headerLength string, body []byte, req gpu.Request) (gpu.Response, error) {
	outputs, err := readTensors(headerLength, body)
	if err != nil {
		return gpu.Response{}, err
	}
	return outputs.response(req)
}

// response checks the outputs of a model as the response to req, for both protocols.
func (t tensors) response(req gpu.Request) (gpu.Response, error) {
	rows, err := t.rows(req)
	if err != nil {
		return gpu.Response{}, err
	}
	resp := gpu.Response{Frames: make([][]evidence.Detection, len(req.Frames)), Known: t["KNOWN_TERMS"].bools}
	for row := range rows {
		frame, detection, err := t.detection(row, req, resp.Known)
		if err != nil {
			return gpu.Response{}, fmt.Errorf("detection %d: %w", row, err)
		}
		resp.Frames[frame] = append(resp.Frames[frame], detection)
	}
	resp.Shades, err = t.shades(req)
	return resp, err
}

// shades returns the shades of each frame; nil when they were not requested.
func (t tensors) shades(req gpu.Request) ([][]byte, error) {
	if !req.WantShades {
		return nil, nil
	}
	all := t["SHADES"].bytes
	if brightest := slices.Max(all); brightest > evidence.MaxShade {
		return nil, fmt.Errorf("output SHADES: %d is over %d", brightest, evidence.MaxShade)
	}
	return slices.Collect(slices.Chunk(all, evidence.Cells*evidence.Cells)), nil
}

// readTensors splits a body into its outputs.
func readTensors(headerLength string, body []byte) (tensors, error) {
	length := len(body)
	if headerLength != "" {
		n, err := strconv.Atoi(headerLength)
		if err != nil || n < 0 || n > len(body) {
			return nil, fmt.Errorf("%s %q does not fit a body of %d bytes", headerLengthHeader, headerLength, len(body))
		}
		length = n
	}
	var header struct {
		Outputs []tensorHeader `json:"outputs"`
	}
	if err := json.Unmarshal(body[:length], &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	raw, outputs := body[length:], tensors{}
	for _, h := range header.Outputs {
		if _, twice := outputs[h.Name]; twice {
			return nil, fmt.Errorf("output %s occurs twice", h.Name)
		}
		t, used, err := readTensor(h, raw)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", h.Name, err)
		}
		outputs[h.Name], raw = t, raw[used:]
	}
	if len(raw) > 0 {
		return nil, fmt.Errorf("%d unexpected bytes after the last output", len(raw))
	}
	return outputs, nil
}

// readTensor reads one output from the front of raw, or from its JSON data, and returns how
// many bytes of raw it took.
func readTensor(h tensorHeader, raw []byte) (tensor, int, error) {
	count, err := elements(h.Shape)
	if err != nil {
		return tensor{}, 0, err
	}
	t := tensor{datatype: h.Datatype, shape: h.Shape}
	if h.Parameters == nil || h.Parameters.BinaryDataSize == nil {
		return t, 0, t.readJSON(h.Data, count)
	}
	size := *h.Parameters.BinaryDataSize
	if size < 0 || size > len(raw) {
		return t, 0, fmt.Errorf("binary_data_size is %d, but %d bytes are left", size, len(raw))
	}
	return t, size, t.readRaw(raw[:size], count)
}

// elements multiplies a shape, without overflow.
func elements(shape []int) (int, error) {
	const most = maxRows * max(evidence.NumKeypoints*3, maxColors)
	if len(shape) == 0 {
		return 0, errors.New("the shape is missing")
	}
	count := 1
	for _, n := range shape {
		if n < 0 || n > most {
			return 0, fmt.Errorf("invalid shape %v", shape)
		}
		if count *= n; count > most {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
	}
	return count, nil
}

func (t *tensor) readJSON(data json.RawMessage, count int) (err error) {
	switch t.datatype {
	case "FP32":
		err = json.Unmarshal(data, &t.floats)
	case "INT32":
		err = json.Unmarshal(data, &t.ints)
	case "BOOL":
		err = json.Unmarshal(data, &t.bools)
	case "UINT8":
		var numbers []uint32
		if err := json.Unmarshal(data, &numbers); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		return t.readNumbers(numbers, count)
	default:
		// This output was not requested, and its type is not used here.
		return nil
	}
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if length := len(t.floats) + len(t.ints) + len(t.bools); length != count {
		return fmt.Errorf("%d values in data, but the shape is %v", length, t.shape)
	}
	return nil
}

// readNumbers reads UINT8, which is wider in JSON and in typed contents.
func (t *tensor) readNumbers(numbers []uint32, count int) error {
	if len(numbers) != count {
		return fmt.Errorf("%d values, but the shape is %v", len(numbers), t.shape)
	}
	t.bytes = make([]byte, count)
	for i, n := range numbers {
		if n > math.MaxUint8 {
			return fmt.Errorf("%d is not a UINT8", n)
		}
		t.bytes[i] = byte(n)
	}
	return nil
}

func (t *tensor) readRaw(raw []byte, count int) error {
	width := map[string]int{"FP32": 4, "INT32": 4, "BOOL": 1, "UINT8": 1}[t.datatype]
	if width == 0 {
		return nil
	}
	if len(raw) != count*width {
		return fmt.Errorf("%d bytes of %s, but the shape is %v", len(raw), t.datatype, t.shape)
	}
	switch t.datatype {
	case "FP32":
		t.floats = make([]float32, count)
		for i := range t.floats {
			t.floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case "INT32":
		t.ints = make([]int32, count)
		for i := range t.ints {
			t.ints[i] = int32(binary.LittleEndian.Uint32(raw[4*i:])) //nolint:gosec // two's complement on the wire
		}
	case "BOOL":
		t.bools = make([]bool, count)
		for i, b := range raw {
			t.bools[i] = b != 0
		}
	case "UINT8":
		t.bytes = slices.Clone(raw)
	}
	return nil
}

// rows checks that every output is present with its type and shape, and returns the number
// of detections.
func (t tensors) rows(req gpu.Request) (int, error) {
	scores := t["SCORES"]
	if len(scores.shape) != 1 || scores.shape[0] > maxRows {
		return 0, fmt.Errorf("output SCORES has shape %v, must be [0..%d]", scores.shape, maxRows)
	}
	rows := scores.shape[0]
	want := map[string]struct {
		datatype string
		shape    []int
	}{
		"BOXES":       {"FP32", []int{rows, 4}},
		"SCORES":      {"FP32", []int{rows}},
		"TERM_INDEX":  {"INT32", []int{rows}},
		"FRAME_INDEX": {"INT32", []int{rows}},
		"KNOWN_TERMS": {"BOOL", []int{len(req.Terms)}},
		"KEYPOINTS":   {"FP32", []int{rows, evidence.NumKeypoints, 3}},
		"SHADES":      {"UINT8", []int{len(req.Frames), evidence.Cells, evidence.Cells}},
	}
	for _, name := range outputNames(req) {
		got, wanted := t[name], want[name]
		if name == "COLORS" {
			wanted.datatype, wanted.shape = "FP32", []int{rows, colors(got)}
		}
		if got.datatype != wanted.datatype || !slices.Equal(got.shape, wanted.shape) {
			return 0, fmt.Errorf("output %s is %s %v, must be %s %v", name, got.datatype, got.shape, wanted.datatype, wanted.shape)
		}
	}
	return rows, nil
}

// colors is the number of columns of COLORS, which the model may choose.
func colors(t tensor) int {
	if len(t.shape) == 2 && t.shape[1] >= 1 && t.shape[1] <= maxColors {
		return t.shape[1]
	}
	return maxColors
}

// detection reads one row and returns the index of its frame.
func (t tensors) detection(row int, req gpu.Request, known []bool) (int, evidence.Detection, error) {
	frame, term := int(t["FRAME_INDEX"].ints[row]), int(t["TERM_INDEX"].ints[row])
	if frame < 0 || frame >= len(req.Frames) {
		return 0, evidence.Detection{}, fmt.Errorf("FRAME_INDEX is %d, but there are %d frames", frame, len(req.Frames))
	}
	if term < 0 || term >= len(req.Terms) || !known[term] {
		return 0, evidence.Detection{}, fmt.Errorf("TERM_INDEX %d is not one of the known terms", term)
	}
	score, err := unit(t["SCORES"].floats[row])
	if err != nil {
		return 0, evidence.Detection{}, fmt.Errorf("SCORES: %w", err)
	}
	corners, err := units(t["BOXES"].floats[4*row : 4*row+4])
	if err != nil {
		return 0, evidence.Detection{}, fmt.Errorf("BOXES: %w", err)
	}
	box := evidence.Box{X1: corners[0], Y1: corners[1], X2: corners[2], Y2: corners[3]}
	if box.X1 > box.X2 || box.Y1 > box.Y2 {
		return 0, evidence.Detection{}, fmt.Errorf("BOXES: the corners of %v are swapped", corners)
	}
	d := evidence.Detection{Term: term, Box: box, Score: score}
	if req.WantPose {
		if d.Keypoints, err = keypoints(t["KEYPOINTS"].floats[row*evidence.NumKeypoints*3 : (row+1)*evidence.NumKeypoints*3]); err != nil {
			return 0, evidence.Detection{}, fmt.Errorf("KEYPOINTS: %w", err)
		}
	}
	if req.WantColors {
		width := t["COLORS"].shape[1]
		if d.Colors, err = shares(t["COLORS"].floats[row*width : (row+1)*width]); err != nil {
			return 0, evidence.Detection{}, fmt.Errorf("COLORS: %w", err)
		}
	}
	return frame, d, nil
}

// keypoints reads 17 joints of x, y, score. It returns nil when all scores are 0, which
// means that no pose was estimated.
func keypoints(values []float32) ([]evidence.Keypoint, error) {
	list, seen := make([]evidence.Keypoint, evidence.NumKeypoints), false
	for i := range list {
		numbers, err := units(values[3*i : 3*i+3])
		if err != nil {
			return nil, fmt.Errorf("joint %d: %w", i, err)
		}
		list[i] = evidence.Keypoint{X: numbers[0], Y: numbers[1], Score: numbers[2]}
		seen = seen || numbers[2] > 0
	}
	if !seen {
		return nil, nil
	}
	return list, nil
}

func units(values []float32) ([]float64, error) {
	list := make([]float64, len(values))
	for i, v := range values {
		var err error
		if list[i], err = unit(v); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// shares are numbers of 0..1 in their original precision.
func shares(values []float32) ([]float32, error) {
	list := make([]float32, len(values))
	for i, v := range values {
		share, err := unit(v)
		if err != nil {
			return nil, err
		}
		list[i] = float32(share)
	}
	return list, nil
}

// unit returns a number of 0..1. NaN and other numbers are errors.
func unit(v float32) (float64, error) {
	if !(v >= -tolerance && v <= 1+tolerance) {
		return 0, fmt.Errorf("%v is not within 0..1", v)
	}
	return min(1, max(0, float64(v))), nil
}
