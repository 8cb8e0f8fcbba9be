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
	benchFPS         = 2 // the sampling rate of handlers/jobs
)

// bareBatch is the number of frames in one request of the bare pass. The worker spreads the frames of
// all requests over its threads, so a few waiting requests keep it busy.
const bareBatch = 4

// overhead compares the time of an analysis with the time of the worker alone on the same frames.
type overhead struct {
	// width and height of the clip, and its rate in Mbit/s.
	width, height, rate int
	clip                string
	images              [][]byte
	classes             []string
	threads             int
	// decode and firstFrame are the times of ffmpeg alone.
	decode, firstFrame time.Duration
	rounds             []overheadRound
}

type overheadRound struct {
	bare, full time.Duration
	// frames is the number of examined frames, with those around the edges of clips.
	frames int
	// bareCPU is the processor time of the worker during bare. The other values are the processor
	// times during full: of the worker, of ffmpeg, and of the rest of this program with the benchmark.
	bareCPU, worker, ffmpeg, service time.Duration
	// The parts of full, from the log: until the job claims the analysis, until ffmpeg starts, until
	// the last frame is examined, until the analysis is completed and settled, until the response.
	claim, begin, examine, settle, answer time.Duration
}

// prepare renders a clip with the bit rate of a phone's video of this size, and decodes it.
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
	// An analysis asks for all classes of the model.
	o.classes = info.Vocabulary
	o.threads = info.Concurrency
	started := time.Now()
	for f, err := range frames.Sample(benchContext(b), s.ffmpeg, clip, frames.Options{FPS: benchFPS, PPM: info.PPM}) {
		require.NoError(b, err)
		if o.images = append(o.images, f.Image); len(o.images) == 1 {
			o.firstFrame = time.Since(started)
		}
	}
	o.decode = time.Since(started)
	require.Len(b, o.images, benchClipSeconds*benchFPS)
}

func (o *overhead) round(b *testing.B, s *server, c *client.Client) {
	b.Helper()
	var r overheadRound
	// Each round has its own video, because a stored survey would answer the next question.
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

// bare sends the same number of decoded frames directly to the engine, with several requests at once.
func (o *overhead) bare(b *testing.B, engine gpu.Engine, inFlight, count int) time.Duration {
	b.Helper()
	g, ctx := errgroup.WithContext(benchContext(b))
	g.SetLimit(inFlight)
	started := time.Now()
	for i := 0; i < count; i += bareBatch {
		g.Go(func() error {
			part := make([][]byte, min(bareBatch, count-i))
			for k := range part {
				part[k] = o.images[(i+k)%len(o.images)]
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

// divide splits the time of an analysis by the recorded times of its events.
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
				r.examine = since(e)
			}
		case analysis.Completed:
			r.settle, r.frames = since(e), event.Result.Receipt.Frames
		}
	}
	require.Positive(b, r.settle, "the analysis has all its events")
	r.answer = r.full - r.claim - r.begin - r.examine - r.settle
}

func (o *overhead) median(of func(overheadRound) time.Duration) time.Duration {
	all := make([]time.Duration, len(o.rounds))
	for i, r := range o.rounds {
		all[i] = of(r)
	}
	return quantile(all, 0.5)
}

// ratio returns the least, the median and the greatest ratio of full to bare over all rounds.
func (o *overhead) ratio() (least, median, most float64) {
	return o.spread(func(r overheadRound) float64 { return r.full.Seconds() / r.bare.Seconds() })
}

// cpuRatio is the ratio of the processor times, which depend less on other programs on the machine.
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
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	b.ReportMetric(o.median(func(r overheadRound) time.Duration { return r.bare }).Seconds(), "bare-s")
	b.ReportMetric(o.median(func(r overheadRound) time.Duration { return r.full }).Seconds(), "full-s")
	_, ratio, _ := o.ratio()
	b.ReportMetric(ratio, "full/bare")
	_, ratio, _ = o.cpuRatio()
	b.ReportMetric(ratio, "cpu/bare")
	b.ReportMetric(o.perFrame(func(r overheadRound) time.Duration { return r.bareCPU }), "bare-cpu-ms/frame")
	b.ReportMetric(o.perFrame(func(r overheadRound) time.Duration { return r.ffmpeg }), "ffmpeg-cpu-ms/frame")
}

// perFrame is the median of a time in milliseconds per frame.
func (o *overhead) perFrame(of func(overheadRound) time.Duration) float64 {
	return 1000 * o.median(func(r overheadRound) time.Duration { return of(r) / time.Duration(r.frames) }).Seconds()
}

func (o *overhead) print(w io.Writer) {
	least, median, most := o.ratio()
	seconds := func(of func(overheadRound) time.Duration) string {
		return fmt.Sprintf("%.3f s", o.median(of).Seconds())
	}
	fmt.Fprintf(w, "\nAn analysis of %d s of %dx%d at %d Mbit/s, %d frames, from request to answer, compared with the worker alone on decoded frames.\n\n"+
		"| part | median |\n|---|--:|\n", benchClipSeconds, o.width, o.height, o.rate, len(o.images))
	fmt.Fprintf(w, "| worker alone | %s |\n", seconds(func(r overheadRound) time.Duration { return r.bare }))
	fmt.Fprintf(w, "| analysis | %s |\n", seconds(func(r overheadRound) time.Duration { return r.full }))
	fmt.Fprintf(w, "| analysis / worker | **%.2f** (%.2f-%.2f) |\n", median, least, most)
	fmt.Fprintf(w, "| created to claimed (feed, River) | %s |\n", seconds(func(r overheadRound) time.Duration { return r.claim }))
	fmt.Fprintf(w, "| claimed to start of ffmpeg | %s |\n", seconds(func(r overheadRound) time.Duration { return r.begin }))
	fmt.Fprintf(w, "| start of ffmpeg to last frame examined (decode, infer) | %s |\n", seconds(func(r overheadRound) time.Duration { return r.examine }))
	fmt.Fprintf(w, "| last frame examined to completed and settled | %s |\n", seconds(func(r overheadRound) time.Duration { return r.settle }))
	fmt.Fprintf(w, "| request, notification, response | %s |\n", seconds(func(r overheadRound) time.Duration { return r.answer }))
	least, median, most = o.cpuRatio()
	fmt.Fprintf(w, "| processor time of the analysis / of the worker alone | **%.2f** (%.2f-%.2f) |\n", median, least, most)
	fmt.Fprintf(w, "| processor time per frame: worker alone; worker; ffmpeg; rest of the service | %.1f ms; %.1f ms; %.1f ms; %.1f ms |\n",
		o.perFrame(func(r overheadRound) time.Duration { return r.bareCPU }), o.perFrame(func(r overheadRound) time.Duration { return r.worker }),
		o.perFrame(func(r overheadRound) time.Duration { return r.ffmpeg }), o.perFrame(func(r overheadRound) time.Duration { return r.service }))
	fmt.Fprintf(w, "| decoding alone; its first frame | %.3f s; %.3f s |\n", o.decode.Seconds(), o.firstFrame.Seconds())
}
