package oip

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"vqa/gpu"
)

const headerLengthHeader = "Inference-Header-Content-Length"

// maxBytesElement bounds one element to the size of a reasonable frame. It fits into the 4
// length bytes before an element.
const maxBytesElement = 32 << 20

type tensorParameters struct {
	BinaryDataSize   *int `json:"binary_data_size,omitempty"`
	BinaryDataOutput bool `json:"binary_data_output,omitempty"`
	BinaryData       bool `json:"binary_data,omitempty"`
}

type tensorHeader struct {
	Name       string            `json:"name"`
	Datatype   string            `json:"datatype,omitempty"`
	Shape      []int             `json:"shape,omitempty"`
	Parameters *tensorParameters `json:"parameters,omitempty"`
	Data       json.RawMessage   `json:"data,omitempty"`
}

type requestHeader struct {
	Inputs     []tensorHeader    `json:"inputs"`
	Outputs    []tensorHeader    `json:"outputs"`
	Parameters *tensorParameters `json:"parameters,omitempty"`
}

// checkRequest refuses requests that no model accepts.
func checkRequest(req gpu.Request) error {
	if n := len(req.Frames); n < 1 || n > gpu.MaxFrames {
		return fmt.Errorf("%d frames, must be 1 to %d", n, gpu.MaxFrames)
	}
	if len(req.Terms) == 0 {
		return errors.New("at least one term is required")
	}
	return nil
}

// bytesInputs are the frames and the terms of a request as BYTES tensors.
func bytesInputs(req gpu.Request) (frames, terms bytesTensor, err error) {
	if frames, err = bytesSize("FRAMES", req.Frames); err != nil {
		return frames, terms, err
	}
	elements := make([][]byte, len(req.Terms))
	for i, term := range req.Terms {
		elements[i] = []byte(term)
	}
	terms, err = bytesSize("TERMS", elements)
	return frames, terms, err
}

// encodeRequest returns the body of an inference request and the length of its JSON
// header.
func encodeRequest(req gpu.Request) (body []byte, headerLength int, err error) {
	frames, terms, err := bytesInputs(req)
	if err != nil {
		return nil, 0, err
	}
	header := requestHeader{Parameters: &tensorParameters{BinaryDataOutput: true}}
	header.Inputs = []tensorHeader{
		{Name: "FRAMES", Datatype: "BYTES", Shape: []int{len(frames.elements)}, Parameters: &tensorParameters{BinaryDataSize: &frames.size}},
		{Name: "TERMS", Datatype: "BYTES", Shape: []int{len(terms.elements)}, Parameters: &tensorParameters{BinaryDataSize: &terms.size}},
	}
	for _, name := range flagNames(req) {
		header.Inputs = append(header.Inputs, tensorHeader{Name: name, Datatype: "BOOL", Shape: []int{1}, Data: json.RawMessage("[true]")})
	}
	for _, name := range outputNames(req) {
		header.Outputs = append(header.Outputs, tensorHeader{Name: name, Parameters: &tensorParameters{BinaryData: true}})
	}
	head, err := json.Marshal(header)
	if err != nil {
		return nil, 0, fmt.Errorf("encode the request: %w", err)
	}
	body = make([]byte, 0, len(head)+frames.size+terms.size)
	body = append(body, head...)
	body = frames.append(body)
	body = terms.append(body)
	return body, len(head), nil
}

// flagNames lists the inputs of a request that are true; others are not sent.
func flagNames(req gpu.Request) []string {
	var names []string
	if req.WantPose {
		names = append(names, "WANT_POSE")
	}
	if req.WantRotations {
		names = append(names, rotations)
	}
	return names
}

// outputNames lists the outputs that a request needs.
func outputNames(req gpu.Request) []string {
	names := []string{"BOXES", "SCORES", "TERM_INDEX", "FRAME_INDEX", "KNOWN_TERMS"}
	if req.WantPose {
		names = append(names, "KEYPOINTS")
	}
	if req.WantColors {
		names = append(names, "COLORS")
	}
	if req.WantShades {
		names = append(names, "SHADES")
	}
	return names
}

// bytesTensor is a BYTES tensor with its encoded size.
type bytesTensor struct {
	elements [][]byte
	size     int
}

func bytesSize(name string, elements [][]byte) (bytesTensor, error) {
	t := bytesTensor{elements: elements}
	for i, element := range elements {
		if len(element) == 0 || len(element) > maxBytesElement {
			return t, fmt.Errorf("%s[%d] has %d bytes, must be 1 to %d", name, i, len(element), maxBytesElement)
		}
		t.size += 4 + len(element)
	}
	return t, nil
}

func (t bytesTensor) append(body []byte) []byte {
	for _, element := range t.elements {
		body = binary.LittleEndian.AppendUint32(body, uint32(len(element))) //nolint:gosec // at most maxBytesElement
		body = append(body, element...)
	}
	return body
}
