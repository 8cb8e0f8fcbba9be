package oip

import (
	"math"
	"strconv"
	"testing"

	"vqa/gpu"
)

// FuzzDecodeResponse: decoding never panics, and an accepted response keeps the guarantees
// of gpu.Engine.
func FuzzDecodeResponse(f *testing.F) {
	f.Add("", []byte(`{"outputs":[{"name":"SCORES","datatype":"FP32","shape":[0],"data":[]}]}`))
	f.Add("64", []byte(`{"outputs":[{"name":"SCORES","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}aaaa`))
	f.Add("", []byte(`{"outputs":[
		{"name":"BOXES","datatype":"FP32","shape":[1,4],"data":[0,0,1,1]},
		{"name":"SCORES","datatype":"FP32","shape":[1],"data":[0.5]},
		{"name":"TERM_INDEX","datatype":"INT32","shape":[1],"data":[1]},
		{"name":"FRAME_INDEX","datatype":"INT32","shape":[1],"data":[0]},
		{"name":"KNOWN_TERMS","datatype":"BOOL","shape":[2],"data":[true,true]}]}`))
	f.Add(strconv.Itoa(math.MaxInt), []byte(`{}`))
	f.Fuzz(func(t *testing.T, headerLength string, body []byte) {
		for _, extras := range []bool{false, true} {
			req := gpu.Request{Frames: make([][]byte, 2), Terms: []string{"a", "b"}, WantPose: extras, WantColors: extras}
			resp, err := decodeResponse(headerLength, body, req)
			if err != nil {
				continue
			}
			if len(resp.Frames) != 2 || len(resp.Known) != 2 {
				t.Fatalf("%d frames, %d known", len(resp.Frames), len(resp.Known))
			}
			for _, frame := range resp.Frames {
				for _, d := range frame {
					inside := d.Box.X1 >= 0 && d.Box.X1 <= d.Box.X2 && d.Box.X2 <= 1 && d.Box.Y1 >= 0 && d.Box.Y1 <= d.Box.Y2 && d.Box.Y2 <= 1
					if !inside || !(d.Score >= 0 && d.Score <= 1) || d.Term < 0 || d.Term > 1 || !resp.Known[d.Term] {
						t.Fatalf("accepted %+v", d)
					}
				}
			}
		}
	})
}
