package live_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/message"
	"vqa/streaming/record"
)

// parts is an object store in memory, with the parts of a recording.
type parts struct {
	mu      sync.Mutex
	objects map[string][]byte
	stored  []stream.Part
}

func (p *parts) add(part stream.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = append(p.stored, part)
}

// Put implements record.Store.
func (p *parts) Put(_ context.Context, key, _ string, content io.Reader, _ int64) error {
	all, err := io.ReadAll(content)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects[key] = all
	return err
}

// Reader implements record.Store.
func (p *parts) Reader(_ context.Context, key string) (io.ReadSeekCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, ok := p.objects[key]
	if !ok {
		return nil, fault.New(fault.ResourceNotFound, "")
	}
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader(all), io.NopCloser(nil)}, nil
}

// Delete implements record.Store.
func (p *parts) Delete(_ context.Context, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, key)
	return nil
}

// times returns the times of the pictures of the finished MP4, in seconds.
func (p *parts) times(t testing.TB) []float64 {
	t.Helper()
	require.NoError(t, record.Finisher{Store: p, FFmpeg: ffmpegtest.Runner(t)}.Finish(t.Context(), "st_1", p.stored, t.TempDir()))
	path := filepath.Join(t.TempDir(), "video.mp4")
	require.NoError(t, os.WriteFile(path, p.objects[record.MP4Key("st_1")], 0o600))
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=best_effort_timestamp_time",
		"-of", "csv=p=0", path).Output()
	require.NoError(t, err)
	var all []float64
	for _, line := range strings.Fields(string(out)) {
		at, err := strconv.ParseFloat(strings.Trim(line, ","), 64)
		require.NoError(t, err)
		all = append(all, at)
	}
	return all
}

// TestTheEncoderStartsAgain lets a real sender begin with other numbers and times while it is live, on the same
// track as after replaceTrack, and on a new one. Answers go on at once, and the recording keeps the true times.
func TestTheEncoderStartsAgain(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(g *stage){
		"same track": func(g *stage) { g.camera.again.Store(true) },
		"new track": func(g *stage) {
			require.NoError(t, g.camera.pc.RemoveTrack(g.camera.pc.GetSenders()[0]))
			g.camera.again.Store(true)
			g.camera.add(g)
			g.camera.offer(g, g.session, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := creation()
			c.Recording = true
			g := newStage(t, c)
			g.camera.offer(t, g.session, false)
			g.waitAnswer("yes")
			// The old times are far ahead of the new ones.
			g.wait("three seconds", func() bool { return g.last().AtS > 3 })
			for round := range 4 {
				seq := g.last().Seq
				restart(g)
				g.camera.showsDark.Store(round%2 == 0)
				g.waitAnswer(map[bool]string{true: "no", false: "yes"}[round%2 == 0])
				g.wait("more results", func() bool { return g.last().Seq > seq+5 })
			}
			all := of[message.Result](g.reader)
			for i, r := range all {
				require.Equal(t, int64(i+1), r.Seq)
				require.True(t, i == 0 || r.AtS-all[i-1].AtS < 2, "no pause before result %d", i)
			}
			require.NoError(t, g.session.End(t.Context()))
			require.Zero(t, countOf(g.log.types(), "stream.paused"), fmt.Sprint(g.log.types()))
			g.mu.Lock()
			require.Len(t, g.pids, 1, "one ffmpeg decodes all")
			g.mu.Unlock()

			times := g.parts.times(t)
			clock := (time.Duration(g.log.state.ClockMillis) * time.Millisecond).Seconds()
			require.InDelta(t, clock, times[len(times)-1], 1, "the recording is as long as the clock")
			for i := range times[1:] {
				require.Positive(t, times[i+1]-times[i], "picture %d", i)
				require.Less(t, times[i+1]-times[i], 1.5, "picture %d", i)
			}
		})
	}
}

func countOf(all []string, what string) int {
	n := 0
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}

// TestPicturesThatCannotBeDecoded: the diagnosis says why no result came.
func TestPicturesThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	run(t, creation(), 100, func(w *world) {
		w.wire.whole = true
		w.connect()
		w.show(undecodable, 20*time.Second)
		st := w.log.ended(w, stream.MediaTimeout, 15000, 0)
		require.Contains(w, st.Diagnostic.Hint, "none could be decoded")
		require.NotEmpty(w, st.Diagnostic.LocalCandidates)
	})
}
