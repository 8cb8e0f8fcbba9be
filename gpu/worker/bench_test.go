package worker

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"vqa/gpu"
)

// BenchmarkDetect keeps all threads busy with requests of 8 frames of 512x288 pixels, for
// all terms of the model, with colors. It is compared with the bare model in the same
// number of threads, before and after, because other work of the machine slows down both.
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
	info, err := w.Engine().Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	before := bare(b, w, info.Concurrency)
	for b.Loop() {
		var wg sync.WaitGroup
		for range inFlight {
			wg.Go(func() {
				if _, err := w.Engine().Detect(b.Context(), gpu.Request{Frames: frames, Terms: info.Vocabulary, WantColors: true}); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	rate := batch * inFlight * float64(b.N) / b.Elapsed().Seconds()
	alone := (before + bare(b, w, info.Concurrency)) / 2
	b.ReportMetric(rate, "frames/s")
	b.ReportMetric(alone, "bare-frames/s")
	b.ReportMetric(alone/rate, "full/bare")
}

// bare is the number of frames per second of the model alone, in some threads.
func bare(b *testing.B, w *Worker, threads int) float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), w.opts.NodePath, filepath.Join("testdata", "bare.js"), strconv.Itoa(threads), "20")
	cmd.Dir = w.opts.Dir
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}
