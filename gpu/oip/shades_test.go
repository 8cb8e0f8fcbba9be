package oip_test

import (
	"bytes"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/gpu"
	"vqa/gpu/oip"
	"vqa/gpu/oip/wire"
)

// gray is the brightness of one evenly gray frame.
func gray(shade byte) []byte { return bytes.Repeat([]byte{shade}, evidence.Cells*evidence.Cells) }

// shades is the brightness of the two frames of a request.
func shades(one, other byte) output {
	return output{Name: "SHADES", Datatype: "UINT8", Shape: []int{2, evidence.Cells, evidence.Cells}, raw: slices.Concat(gray(one), gray(other))}
}

func shadesRequest() gpu.Request {
	req := request()
	req.WantShades = true
	return req
}

func TestDetectReadsShades(t *testing.T) {
	t.Parallel()
	asJSON := shades(3, 31)
	asJSON.Data, asJSON.raw = wide(asJSON.raw), nil
	typed := raw(good())
	typed.RawOutputContents = nil
	typed.Outputs = []*wire.ModelInferResponse_InferOutputTensor{
		{Name: "BOXES", Datatype: "FP32", Shape: []int64{0, 4}}, {Name: "SCORES", Datatype: "FP32", Shape: []int64{0}},
		{Name: "TERM_INDEX", Datatype: "INT32", Shape: []int64{0}}, {Name: "FRAME_INDEX", Datatype: "INT32", Shape: []int64{0}},
		{Name: "KNOWN_TERMS", Datatype: "BOOL", Shape: []int64{2}, Contents: &wire.InferTensorContents{BoolContents: []bool{true, true}}},
		{
			Name: "SHADES", Datatype: "UINT8", Shape: []int64{2, evidence.Cells, evidence.Cells},
			Contents: &wire.InferTensorContents{UintContents: wide(shades(3, 31).raw)},
		},
	}
	for name, engine := range map[string]gpu.Engine{
		"bytes":          serve(t, oip.Options{}, answering(append(good(), shades(3, 31)))),
		"JSON":           serve(t, oip.Options{}, answering(append(good(), asJSON))),
		"raw contents":   serveGRPC(t, oip.Options{}, inferring(raw(append(good(), shades(3, 31))))),
		"typed contents": serveGRPC(t, oip.Options{}, inferring(typed)),
	} {
		resp, err := engine.Detect(t.Context(), shadesRequest())
		require.NoError(t, err, name)
		require.Empty(t, cmp.Diff([][]byte{gray(3), gray(31)}, resp.Shades), name)
	}
	resp, err := serve(t, oip.Options{}, answering(append(good(), shades(3, 31)))).Detect(t.Context(), request())
	require.NoError(t, err)
	require.Nil(t, resp.Shades, "they were not requested")
}

func wide(values []byte) []uint32 {
	numbers := make([]uint32, len(values))
	for i, v := range values {
		numbers[i] = uint32(v)
	}
	return numbers
}

func TestDetectRefusesInvalidShades(t *testing.T) {
	t.Parallel()
	flat, few, tooMuch := shades(0, 1), shades(0, 1), shades(0, 1)
	flat.Shape = []int{2, evidence.Cells * evidence.Cells}
	few.Data, tooMuch.Data = []int{1}, append([]uint32{256}, wide(tooMuch.raw)[1:]...)
	few.raw, tooMuch.raw = nil, nil
	for name, o := range map[string]output{
		"brighter than white": shades(0, 32), "of another shape": flat, "too few": few, "no byte": tooMuch,
		"floats": floats("SHADES", []int{2, evidence.Cells, evidence.Cells}, make([]float32, 2*evidence.Cells*evidence.Cells)...), "none": {Name: "NOTES", Datatype: "BYTES", Shape: []int{1}},
	} {
		_, err := serve(t, oip.Options{}, answering(append(good(), o))).Detect(t.Context(), shadesRequest())
		require.ErrorAs(t, err, new(*gpu.InferenceError), name)
	}
}

// TestInfoTellsAbilities: a server has shades and rotations when its metadata list their tensors.
func TestInfoTellsAbilities(t *testing.T) {
	t.Parallel()
	over := func(inputs, outputs string) gpu.Engine {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v2/models/detect", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"name":"detect","inputs":[` + inputs + `],"outputs":[` + outputs + `]}`))
		})
		return client(t, oip.Options{}, mux)
	}
	overGRPC := func(input, output string) gpu.Engine {
		metadata := &wire.ModelMetadataResponse{Name: "detect"}
		metadata.Inputs = append(metadata.Inputs, &wire.ModelMetadataResponse_TensorMetadata{Name: input})
		metadata.Outputs = append(metadata.Outputs, &wire.ModelMetadataResponse_TensorMetadata{Name: output})
		return serveGRPC(t, oip.Options{}, &grpcServer{metadata: metadata})
	}
	for name, tt := range map[string]struct {
		engine            gpu.Engine
		shades, rotations bool
	}{
		"HTTP":           {over(`{"name":"FRAMES"}`, `{"name":"BOXES"},{"name":"SHADES","datatype":"UINT8","shape":[-1,32,32]}`), true, false},
		"HTTP rotations": {over(`{"name":"WANT_ROTATIONS","datatype":"BOOL","shape":[1]}`, `{"name":"BOXES"}`), false, true},
		"gRPC":           {overGRPC("FRAMES", "SHADES"), true, false},
		"gRPC rotations": {overGRPC("WANT_ROTATIONS", "BOXES"), false, true},
	} {
		info, err := tt.engine.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, tt.shades, info.Shades, name)
		require.Equal(t, tt.rotations, info.Rotations, name)
	}
}
