package decode_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/decode"
)

// cpuOf returns the CPU time of a process, and its memory in MB.
func cpuOf(b *testing.B, pid int) (cpu time.Duration, mb float64) {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const clock = 100                 // ticks per second on Linux
	for _, i := range []int{11, 12} { // user and system
		n, err := strconv.ParseInt(fields[i], 10, 64)
		require.NoError(b, err)
		cpu += time.Duration(n) * time.Second / clock
	}
	pages, err := strconv.ParseInt(fields[21], 10, 64)
	require.NoError(b, err)
	return cpu, float64(pages) * float64(os.Getpagesize()) / (1 << 20)
}

// BenchmarkStream decodes a stream of 640x360 at 30 pictures per second in real time, with 5 samples
// per second. An iteration is a picture. Run it for 10 s or more.
func BenchmarkStream(b *testing.B) {
	for _, codec := range []assemble.Codec{assemble.H264, assemble.VP8, assemble.VP9} {
		b.Run(codec.String(), func(b *testing.B) {
			l := newLab(b, decode.Options{})
			frames := encodeDrawn(b, codec, 640, 360, 0, 180, textured)
			l.Push(frames[0])
			_, err := l.Next(b.Context())
			require.NoError(b, err)
			samples := make(chan time.Duration, b.N+1)
			go func() {
				defer close(samples)
				for {
					s, err := l.Next(b.Context())
					if err != nil {
						return
					}
					samples <- time.Since(s.At)
				}
			}()
			before, _ := cpuOf(b, l.pid())
			tick := time.NewTicker(time.Second / 30)
			defer tick.Stop()
			b.ResetTimer()
			for i := range b.N {
				<-tick.C
				f := frames[1+i%(len(frames)-1)]
				// The clip repeats: a jump back of the picture, not of the time.
				f.Time, f.At = int64(i+1)*ticks, time.Now()
				l.Push(f)
			}
			b.StopTimer()
			after, mb := cpuOf(b, l.pid())
			l.Close()
			var all []time.Duration
			for d := range samples {
				all = append(all, d)
			}
			slices.Sort(all)
			b.ReportMetric(100*(after-before).Seconds()/b.Elapsed().Seconds(), "%core")
			b.ReportMetric(mb, "MB")
			if len(all) > 0 {
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50_ms")
				b.ReportMetric(float64(all[len(all)*95/100].Microseconds())/1000, "p95_ms")
			}
		})
	}
}
