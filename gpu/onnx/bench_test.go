package onnx_test

import (
	"cmp"
	"context"
	"image"
	"image/color"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu"
)

// BenchmarkServed compares the frames per second that clients get with those of the model alone
// on the same device. The target is a share of 0.9 on a GPU. VQA_ONNX_PROVIDER names the
// provider, else it is cpu with one thread. One iteration is 64 frames.
func BenchmarkServed(b *testing.B) {
	const frames, batch, senders = 64, 16, 4
	provider := cmp.Or(os.Getenv("VQA_ONNX_PROVIDER"), "cpu")
	out, err := program(b.Context(), b, "testdata/bare.py", "models/centernet.toml", provider, strconv.Itoa(batch), strconv.Itoa(frames)).Output()
	require.NoError(b, err)
	bare, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	require.NoError(b, err)

	engine := client(b, serve(b, "models/centernet.toml", "--provider", provider))
	req := gpu.Request{Terms: []string{"person", "stop sign"}}
	for range frames / senders {
		req.Frames = append(req.Frames, squares(b, 640, 360, 64, map[image.Point]color.RGBA{image.Pt(320, 180): red}))
	}
	_, err = engine.Detect(b.Context(), req) // warm up
	require.NoError(b, err)
	for b.Loop() {
		var sending sync.WaitGroup
		for range senders {
			sending.Go(func() {
				if _, err := engine.Detect(context.Background(), req); err != nil {
					b.Error(err)
				}
			})
		}
		sending.Wait()
	}
	served := float64(b.N*frames) / b.Elapsed().Seconds()
	b.ReportMetric(bare, "bare_frames/s")
	b.ReportMetric(served, "served_frames/s")
	b.ReportMetric(served/bare, "share")
}
