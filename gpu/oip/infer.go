package oip

import (
	"fmt"

	"vqa/gpu"
	"vqa/gpu/oip/wire"
)

// encodeInfer is encodeRequest for gRPC: every input is raw bytes.
func encodeInfer(model string, req gpu.Request) (*wire.ModelInferRequest, error) {
	frames, terms, err := bytesInputs(req)
	if err != nil {
		return nil, err
	}
	message := &wire.ModelInferRequest{ModelName: model}
	add := func(name, datatype string, length int, raw []byte) {
		message.Inputs = append(message.Inputs, &wire.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: []int64{int64(length)}})
		message.RawInputContents = append(message.RawInputContents, raw)
	}
	add("FRAMES", "BYTES", len(frames.elements), frames.append(make([]byte, 0, frames.size)))
	add("TERMS", "BYTES", len(terms.elements), terms.append(make([]byte, 0, terms.size)))
	for _, name := range flagNames(req) {
		add(name, "BOOL", 1, []byte{1})
	}
	for _, name := range outputNames(req) {
		message.Outputs = append(message.Outputs, &wire.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return message, nil
}

// decodeInfer is readTensors for gRPC: outputs are all raw, or all typed contents.
func decodeInfer(reply *wire.ModelInferResponse) (tensors, error) {
	raw := reply.GetRawOutputContents()
	if len(raw) > 0 && len(raw) != len(reply.GetOutputs()) {
		return nil, fmt.Errorf("%d raw contents for %d outputs", len(raw), len(reply.GetOutputs()))
	}
	outputs := tensors{}
	for i, o := range reply.GetOutputs() {
		if _, twice := outputs[o.GetName()]; twice {
			return nil, fmt.Errorf("output %s occurs twice", o.GetName())
		}
		var content []byte
		if len(raw) > 0 {
			content = raw[i]
		}
		t, err := decodeOutput(o, content, len(raw) > 0)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", o.GetName(), err)
		}
		outputs[o.GetName()] = t
	}
	return outputs, nil
}

func decodeOutput(o *wire.ModelInferResponse_InferOutputTensor, raw []byte, isRaw bool) (tensor, error) {
	t := tensor{datatype: o.GetDatatype()}
	for _, n := range o.GetShape() {
		t.shape = append(t.shape, int(n))
	}
	count, err := elements(t.shape)
	if err != nil {
		return tensor{}, err
	}
	if isRaw {
		return t, t.readRaw(raw, count)
	}
	length := 0
	switch t.datatype {
	case "FP32":
		t.floats = o.GetContents().GetFp32Contents()
		length = len(t.floats)
	case "INT32":
		t.ints = o.GetContents().GetIntContents()
		length = len(t.ints)
	case "BOOL":
		t.bools = o.GetContents().GetBoolContents()
		length = len(t.bools)
	case "UINT8":
		return t, t.readNumbers(o.GetContents().GetUintContents(), count)
	default:
		// This output was not requested, and its type is not used here.
		return t, nil
	}
	if length != count {
		return tensor{}, fmt.Errorf("%d values in contents, but the shape is %v", length, t.shape)
	}
	return t, nil
}
