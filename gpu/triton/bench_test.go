package triton_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/gpu"
	"vqa/gpu/oip"
)

// BenchmarkServed compares the frames per second that a client gets from serve.py with
// those of the model alone on the same device. The target is a share of 0.9 on a GPU.
// VQA_TRITON_WEIGHTS is a folder with weights. Without it the weights are random, and the
// result shows only the cost of a request beside the model. One iteration is 256 frames.
func BenchmarkServed(b *testing.B) {
	const frames, inFlight = 256, 4
	source := os.Getenv("VQA_TRITON_WEIGHTS")
	if source == "" {
		source = tiny(b)
	}
	out, err := command(b.Context(), b, "testdata/bare.py", "--source", source, "--frames", strconv.Itoa(frames)).Output()
	require.NoError(b, err)
	bare, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	require.NoError(b, err)

	httpURL, grpcURL := serveWeights(b, source)
	for name, url := range map[string]string{"HTTP": httpURL, "gRPC": grpcURL} {
		b.Run(name, func(b *testing.B) {
			pool, err := oip.Open([]string{url}, oip.PoolOptions{})
			require.NoError(b, err)
			defer pool.Close()
			awaitReady(b, pool)
			req := gpu.Request{Terms: []string{"dog", "stop sign"}}
			for range 32 {
				req.Frames = append(req.Frames, picture(b, 512, 288))
			}
			_, err = pool.Detect(b.Context(), req) // warm up
			require.NoError(b, err)
			began := time.Now()
			for b.Loop() {
				var senders sync.WaitGroup
				for range inFlight {
					senders.Go(func() {
						for range frames / inFlight / len(req.Frames) {
							if _, err := pool.Detect(b.Context(), req); err != nil {
								b.Error(err)
							}
						}
					})
				}
				senders.Wait()
			}
			served := float64(b.N*frames) / time.Since(began).Seconds()
			b.ReportMetric(bare, "bare_frames/s")
			b.ReportMetric(served, "served_frames/s")
			b.ReportMetric(served/bare, "share")
		})
	}
}
