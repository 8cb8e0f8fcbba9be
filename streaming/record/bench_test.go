package record_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/record"
)

// await waits until so many pictures are stored.
func (s *session) await(frames int64) {
	for {
		told := int64(0)
		for _, p := range s.told() {
			told += p.Frames
		}
		if told >= frames || s.Err() != nil {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// BenchmarkFinish finishes long recordings: many small pictures for the memory of ffmpeg, and large ones
// for its speed. An iteration is a recording.
func BenchmarkFinish(b *testing.B) {
	for _, test := range []struct {
		name          string
		width, height int
		pictures      int
	}{
		{"4 h of 160x96", 160, 96, 4 * 3600 * 30},
		{"10 min of 1280x720", 1280, 720, 600 * 30},
	} {
		b.Run(test.name, func(b *testing.B) {
			c := encode(b, test.width, test.height, 60, 0)
			for range b.N {
				b.StopTimer()
				s := newSession(b, newBucket(b), record.Options{MaxBytes: 1 << 30, PartBytes: 8 << 20})
				bytes := 0
				for i := range test.pictures {
					p := c.picture(i%60, int64(i)*3000)
					p.At = epoch.Add(time.Duration(i) * time.Second / 30)
					bytes += len(p.Data)
					s.Push(p)
					if i%300 == 0 {
						s.await(int64(i) - 900)
					}
				}
				require.NoError(b, s.Close(b.Context()))
				var peak, done atomic.Int64
				runner := ffmpegtest.Runner(b).Observed(func(pid int) {
					go func() {
						for done.Load() == 0 {
							status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
							if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
								var kB int64
								_, _ = fmt.Sscan(rest, &kB)
								peak.Store(max(peak.Load(), kB))
							}
							time.Sleep(10 * time.Millisecond)
						}
					}()
				})
				b.StartTimer()
				began := time.Now()
				require.NoError(b, record.Finisher{Store: s.bucket, FFmpeg: runner}.Finish(b.Context(), s.folder, s.told(), b.TempDir()))
				b.ReportMetric(float64(bytes)/1e6/time.Since(began).Seconds(), "MB/s")
				b.ReportMetric(float64(bytes)/1e6, "MB")
				done.Store(1)
				b.ReportMetric(float64(peak.Load())/1000, "MB_ffmpeg")
				b.ReportMetric(float64(len(s.told())), "parts")
			}
		})
	}
}
