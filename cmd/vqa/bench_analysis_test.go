package main

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/analysis"
	"vqa/eventstore"
	"vqa/gpu"
	"vqa/gpu/frames"
)

const (
	benchPrompt      = "Is there a dog?"
	benchClipSeconds = 30
	benchFPS         = 2 // as handlers/jobs samples
)

// bareBatch is the frames of one request of the bare pass. The worker spreads the
// frames of all requests over its threads, so it is enough that some always wait.
const bareBatch = 4

// overhead compares an analysis with the bare time of the worker on the same frames.
type overhead struct {
	// width and height of the clip, and its rate in Mbit/s.
	width, height, rate int
	clip                string
	jpegs               [][]byte
	classes             []string
	threads             int
	// decode and firstFrame are of ffmpeg alone, with nothing beside it.
	decode, firstFrame time.Duration
	rounds             []overheadRound
}

type overheadRound struct {
	bare, full time.Duration
	// frames were looked at, those around edges too.
	frames int
	// bareCPU is the processor time of the worker in bare; the others are those of the
	// worker, of ffmpeg, and of the rest of this program in full, the benchmark's own included.
	bareCPU, worker, ffmpeg, service time.Duration
	// The parts of full, from the log: until claimed, until ffmpeg is started, until
	// the last frame was seen, until it is decided and settled, until answered.
	claim, begin, look, settle, answer time.Duration
}

// prepare renders a clip that is real work to decode, at the rate of a phone's video of
// this size, and decodes it.
func (o *overhead) prepare(b *testing.B, s *server) {
	b.Helper()
	clip := filepath.Join(b.TempDir(), "clip.mp4")
	out, err := exec.CommandContext(benchContext(b), "ffmpeg", "-v", "error", "-f", "lavfi",
		"-i", fmt.Sprintf("testsrc2=size=%dx%d:rate=30:duration=%d,noise=alls=12:allf=t", o.width, o.height, benchClipSeconds),
		"-c:v", "libx264", "-preset", "veryfast", "-b:v", fmt.Sprintf("%dM", o.rate), "-maxrate", fmt.Sprintf("%dM", o.rate), "-bufsize", fmt.Sprintf("%dM", 2*o.rate), "-pix_fmt", "yuv420p", clip).CombinedOutput()
	require.NoError(b, err, string(out))
	o.clip = clip
	info, err := s.engine.Info(benchContext(b))
	require.NoError(b, err)
	// A pass asks for all that the model knows.
	o.classes = info.Vocabulary
	o.threads = info.Concurrency
	started := time.Now()
	for f, err := range frames.Sample(benchContext(b), s.ffmpeg, clip, frames.Options{FPS: benchFPS}) {
		require.NoError(b, err)
		if o.jpegs = append(o.jpegs, f.JPEG); len(o.jpegs) == 1 {
			o.firstFrame = time.Since(started)
		}
	}
	o.decode = time.Since(started)
	require.Len(b, o.jpegs, benchClipSeconds*benchFPS)
}

func (o *overhead) round(b *testing.B, s *server, c *client.Client) {
	b.Helper()
	var r overheadRound
	// A video of its own: what was seen in one answers the next question.
	video := readyVideo(b, c, o.clip)
	worker, ffmpeg, service := workerTime(b), usedTime(b, syscall.RUSAGE_CHILDREN), usedTime(b, syscall.RUSAGE_SELF)
	started := time.Now()
	a, err := c.CreateAnalysis(benchContext(b), map[string]any{"video_id": video, "prompt": benchPrompt}, client.NewIdempotencyKey(), 2*time.Minute)
	require.NoError(b, err)
	r.full = time.Since(started)
	r.worker, r.ffmpeg, r.service = workerTime(b)-worker, usedTime(b, syscall.RUSAGE_CHILDREN)-ffmpeg, usedTime(b, syscall.RUSAGE_SELF)-service
	require.Equal(b, "completed", a.Status)
	r.divide(b, s, a.ID)
	worker = workerTime(b)
	r.bare = o.bare(b, s.engine, o.threads+1, r.frames)
	r.bareCPU = workerTime(b) - worker
	o.rounds = append(o.rounds, r)
}

// bare sends as many decoded frames straight to the engine, with some requests in flight.
func (o *overhead) bare(b *testing.B, engine gpu.Engine, inFlight, count int) time.Duration {
	b.Helper()
	g, ctx := errgroup.WithContext(benchContext(b))
	g.SetLimit(inFlight)
	started := time.Now()
	for i := 0; i < count; i += bareBatch {
		g.Go(func() error {
			part := make([][]byte, min(bareBatch, count-i))
			for k := range part {
				part[k] = o.jpegs[(i+k)%len(o.jpegs)]
			}
			resp, err := engine.Detect(ctx, gpu.Request{Frames: part, Terms: o.classes, WantColors: true})
			if err == nil && len(resp.Frames) != len(part) {
				err = fmt.Errorf("%d of %d frames were answered", len(resp.Frames), len(part))
			}
			return err
		})
	}
	require.NoError(b, g.Wait())
	return time.Since(started)
}

// divide tells where the time went, by the store's clock at each event.
func (r *overheadRound) divide(b *testing.B, s *server, id string) {
	b.Helper()
	history, err := s.store.LoadAll(b.Context(), eventstore.StreamID{Category: "analysis", ID: id})
	require.NoError(b, err)
	last := history[0].RecordedAt
	since := func(e eventstore.Recorded) time.Duration {
		d := e.RecordedAt.Sub(last)
		last = e.RecordedAt
		return d
	}
	begun := false
	for _, e := range history[1:] {
		switch event := e.Event.(type) {
		case analysis.Started:
			r.claim = since(e)
		case analysis.Progressed:
			switch {
			case event.Stage == analysis.Analyzing && !begun:
				begun, r.begin = true, since(e)
			case event.Stage == analysis.Rendering:
				r.look = since(e)
			}
		case analysis.Completed:
			r.settle, r.frames = since(e), event.Result.Receipt.Frames
		}
	}
	require.Positive(b, r.settle, "the analysis has all its events")
	r.answer = r.full - r.claim - r.begin - r.look - r.settle
}

func (o *overhead) median(of func(overheadRound) time.Duration) time.Duration {
	all := make([]time.Duration, len(o.rounds))
	for i, r := range o.rounds {
		all[i] = of(r)
	}
	return quantile(all, 0.5)
}

// ratio returns least, median and most of full over bare, each ratio of one round.
func (o *overhead) ratio() (least, median, most float64) {
	return o.spread(func(r overheadRound) float64 { return r.full.Seconds() / r.bare.Seconds() })
}

// cpuRatio is the same of processor time, which depends less on who else uses the machine.
func (o *overhead) cpuRatio() (least, median, most float64) {
	return o.spread(func(r overheadRound) float64 {
		return (r.worker + r.ffmpeg + r.service).Seconds() / r.bareCPU.Seconds()
	})
}

func (o *overhead) spread(of func(overheadRound) float64) (least, median, most float64) {
	all := make([]float64, len(o.rounds))
	for i, r := range o.rounds {
		all[i] = of(r)
	}
	slices.Sort(all)
	return all[0], all[len(all)/2], all[len(all)-1]
}

func (o *overhead) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // of a round, which says nothing
	b.ReportMetric(o.median(func(r overheadRound) time.Duration { return r.bare }).Seconds(), "bare-s")
	b.ReportMetric(o.median(func(r overheadRound) time.Duration { return r.full }).Seconds(), "full-s")
	_, ratio, _ := o.ratio()
	b.ReportMetric(ratio, "full/bare")
	_, ratio, _ = o.cpuRatio()
	b.ReportMetric(ratio, "cpu/bare")
	b.ReportMetric(o.perFrame(func(r overheadRound) time.Duration { return r.bareCPU }), "bare-cpu-ms/frame")
	b.ReportMetric(o.perFrame(func(r overheadRound) time.Duration { return r.ffmpeg }), "ffmpeg-cpu-ms/frame")
}

// perFrame is a time of each round in milliseconds a frame.
func (o *overhead) perFrame(of func(overheadRound) time.Duration) float64 {
	return 1000 * o.median(func(r overheadRound) time.Duration { return of(r) / time.Duration(r.frames) }).Seconds()
}

func (o *overhead) print(w io.Writer) {
	least, median, most := o.ratio()
	seconds := func(of func(overheadRound) time.Duration) string {
		return fmt.Sprintf("%.3f s", o.median(of).Seconds())
	}
	fmt.Fprintf(w, "\nAn analysis of %d s of %dx%d at %d Mbit/s, %d frames, from request to answer, against the worker alone on frames that were decoded before.\n\n"+
		"| what | median |\n|---|--:|\n", benchClipSeconds, o.width, o.height, o.rate, len(o.jpegs))
	fmt.Fprintf(w, "| worker alone | %s |\n", seconds(func(r overheadRound) time.Duration { return r.bare }))
	fmt.Fprintf(w, "| analysis | %s |\n", seconds(func(r overheadRound) time.Duration { return r.full }))
	fmt.Fprintf(w, "| analysis / worker | **%.2f** (%.2f-%.2f) |\n", median, least, most)
	fmt.Fprintf(w, "| of it: created to claimed (feed, River) | %s |\n", seconds(func(r overheadRound) time.Duration { return r.claim }))
	fmt.Fprintf(w, "| claimed to looking | %s |\n", seconds(func(r overheadRound) time.Duration { return r.begin }))
	fmt.Fprintf(w, "| looking to last frame seen (decode, infer) | %s |\n", seconds(func(r overheadRound) time.Duration { return r.look }))
	fmt.Fprintf(w, "| seen to decided and settled | %s |\n", seconds(func(r overheadRound) time.Duration { return r.settle }))
	fmt.Fprintf(w, "| the rest: request, wake-up, response | %s |\n", seconds(func(r overheadRound) time.Duration { return r.answer }))
	least, median, most = o.cpuRatio()
	fmt.Fprintf(w, "| processor time / that of the worker alone | **%.2f** (%.2f-%.2f) |\n", median, least, most)
	fmt.Fprintf(w, "| of it, a frame: worker alone; worker; ffmpeg; the rest of the service | %.1f ms; %.1f ms; %.1f ms; %.1f ms |\n",
		o.perFrame(func(r overheadRound) time.Duration { return r.bareCPU }), o.perFrame(func(r overheadRound) time.Duration { return r.worker }),
		o.perFrame(func(r overheadRound) time.Duration { return r.ffmpeg }), o.perFrame(func(r overheadRound) time.Duration { return r.service }))
	fmt.Fprintf(w, "| beside it: decoding alone; its first frame | %.3f s; %.3f s |\n", o.decode.Seconds(), o.firstFrame.Seconds())
}
