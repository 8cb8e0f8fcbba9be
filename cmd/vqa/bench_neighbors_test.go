package main

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/client"
)

// maxSlowdown is the goal for an answer beside one busy program for each core. An equal share of the
// cores alone makes it twice as slow.
const maxSlowdown = 3

// BenchmarkNeighbors compares the time from an upload to its answer on an idle machine with the time
// beside a busy loop for each core. One iteration is a clip of each.
func BenchmarkNeighbors(b *testing.B) {
	s := startBenchServer(b, false)
	c := benchClient(b, s)
	clip := stopSigns(b, 6)
	answered := func() time.Duration {
		began := time.Now()
		a, err := c.CreateAnalysis(benchContext(b), map[string]any{"video_id": readyVideo(b, c, clip), "prompt": queuePrompts[0]}, client.NewIdempotencyKey(), time.Minute)
		require.NoError(b, err)
		require.Equal(b, "completed", a.Status)
		return time.Since(began)
	}
	answered() // warms up
	var idle, beside []time.Duration
	for b.Loop() {
		idle = append(idle, answered())
		func() {
			defer busyLoops(b)()
			beside = append(beside, answered())
		}()
	}
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	b.ReportMetric(quantile(idle, .5).Seconds(), "idle-s")
	b.ReportMetric(quantile(beside, .5).Seconds(), "beside-s")
	b.ReportMetric(quantile(beside, .5).Seconds()/quantile(idle, .5).Seconds(), "beside/idle")
	require.Less(b, quantile(beside, .5), maxSlowdown*quantile(idle, .5), "other programs starve the answer")
}

// busyLoops starts a program for each core that only computes. The returned function ends them.
func busyLoops(b *testing.B) (end func()) {
	b.Helper()
	loops := make([]*exec.Cmd, runtime.NumCPU())
	for i := range loops {
		loops[i] = exec.CommandContext(b.Context(), "sh", "-c", "while :; do :; done")
		loops[i].SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the kernel gives each session its share
		require.NoError(b, loops[i].Start())
	}
	return func() {
		for _, loop := range loops {
			_ = loop.Process.Kill()
			_ = loop.Wait() // it was killed
		}
	}
}
