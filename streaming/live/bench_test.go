package live_test

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query/english"
	"vqa/gpu"
	"vqa/gpu/fixture"
	"vqa/gpu/worker"
	"vqa/streaming/live"
	"vqa/streaming/message"
)

// embedded is the embedded model as the engine of a host.
type embedded struct{ gpu.Engine }

// Info implements live.Engine.
func (e embedded) Info(ctx context.Context) (live.Info, error) {
	info, err := e.Engine.Info(ctx)
	return live.Info{Weights: info.Weights, Vocabulary: info.Vocabulary, Colors: info.Colors, Shades: info.Shades}, err
}

// Detect implements live.Engine.
func (e embedded) Detect(ctx context.Context, r live.Request) (live.Response, error) {
	got, err := e.Engine.Detect(ctx, gpu.Request{
		Frames: [][]byte{r.JPEG}, Terms: r.Terms, WantPose: r.WantPose, WantColors: r.WantColors, WantShades: r.WantShades,
	})
	if err != nil {
		return live.Response{}, err
	}
	out := live.Response{Detections: got.Frames[0], Known: got.Known}
	if r.WantShades {
		out.Shades = got.Shades[0]
	}
	return out, nil
}

// BenchmarkAnswer runs a stream on the embedded model, from a camera over WebRTC to the result, for 20 s.
// It compares the time from a picture to its result with that of the model alone, before and after.
func BenchmarkAnswer(b *testing.B) {
	w, err := worker.Start(b.Context(), worker.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(w.Close)
	engine := embedded{w.Engine()}
	sign := fixture.StopSign(image.Pt(250, 110))
	scene := func(pix []byte) [][]byte {
		return encode(b, "rgba", fixture.Width, fixture.Height, func(int) []byte { return pix })
	}
	for b.Loop() {
		alone := modelAlone(b, engine, sign)
		camera := newCamera(b, scene(sign.Pix), scene(fixture.Empty().Pix))
		var mu sync.Mutex
		var total, inside, besides []time.Duration
		c := creation()
		prompt := "Is there a stop sign?"
		c.Prompt, c.Query = &prompt, english.Compile(prompt)
		g := newStageWith(b, c, engine, camera, func(t live.Timing) {
			mu.Lock()
			defer mu.Unlock()
			total, inside, besides = append(total, t.Total), append(inside, t.Engine), append(besides, t.Total-t.Engine)
		})
		camera.offer(b, g.session, false)
		g.wait("going live", func() bool { return len(of[message.Live](g.reader)) > 0 })
		began := time.Now()
		g.wait("a result", func() bool { return g.last().Seq > 0 })
		first := time.Since(began)
		g.waitAnswer("yes")
		time.Sleep(20 * time.Second)
		require.NoError(b, g.session.End(b.Context()))
		alone = append(alone, modelAlone(b, engine, sign)...)
		mu.Lock()
		b.ReportMetric(first.Seconds()*1e3, "first-result-ms")
		b.ReportMetric(float64(len(total))/20, "results/s")
		report(b, alone, "model-alone")
		report(b, inside, "model")
		report(b, total, "frame-to-result")
		report(b, besides, "besides-model")
		mu.Unlock()
	}
	b.ReportMetric(0, "ns/op")
}

// modelAlone returns the times of the model for one picture after the other, without a stream.
func modelAlone(b *testing.B, engine live.Engine, picture image.Image) []time.Duration {
	b.Helper()
	var file bytes.Buffer
	require.NoError(b, jpeg.Encode(&file, picture, nil))
	info, err := engine.Info(b.Context())
	require.NoError(b, err)
	r := live.Request{JPEG: file.Bytes(), Terms: info.Vocabulary, WantColors: len(info.Colors) > 0, WantShades: info.Shades}
	var all []time.Duration
	for range 30 {
		began := time.Now()
		_, err := engine.Detect(b.Context(), r)
		require.NoError(b, err)
		all = append(all, time.Since(began))
	}
	return all[5:]
}

func report(b *testing.B, all []time.Duration, name string) {
	b.ReportMetric(percentile(all, 50), name+"-p50-ms")
	b.ReportMetric(percentile(all, 95), name+"-p95-ms")
}

// percentile returns a percentile in milliseconds.
func percentile(all []time.Duration, p int) float64 {
	sorted := slices.Sorted(slices.Values(all))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100].Seconds() * 1e3
}
