package worker

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"vqa/gpu"
)

// BenchmarkDetect keeps all threads busy with requests of 8 frames, 512x288 pixels.
func BenchmarkDetect(b *testing.B) {
	picture, err := os.ReadFile(filepath.Join("testdata", "stop-sign.jpg"))
	if err != nil {
		b.Fatal(err)
	}
	w, err := Start(b.Context(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	if err := w.await(b.Context()); err != nil {
		b.Fatal(err)
	}
	const batch, inFlight = 8, 2
	frames := make([][]byte, batch)
	for i := range frames {
		frames[i] = picture
	}
	for b.Loop() {
		var wg sync.WaitGroup
		for range inFlight {
			wg.Go(func() {
				if _, err := w.Engine().Detect(b.Context(), gpu.Request{Frames: frames, Terms: []string{"stop sign"}}); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(batch*inFlight*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}
