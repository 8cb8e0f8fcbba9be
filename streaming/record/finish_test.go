package record_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/assemble"
	"vqa/streaming/record"
)

// shown is a packet or a decoded picture as ffmpeg lists it.
type shown struct {
	pts  int64
	hash string
}

// list returns what ffmpeg reads from an MP4, with times in ticks.
func list(t testing.TB, mp4 []byte, options ...string) []shown {
	t.Helper()
	path := filepath.Join(t.TempDir(), "video.mp4")
	require.NoError(t, os.WriteFile(path, mp4, 0o600))
	out, err := ffmpegtest.Runner(t).Output(t.Context(), ffmpeg.Job{Input: path, OutputArgs: lines(options)}, 1<<20)
	require.NoError(t, err)
	return parse(t, out)
}

// listRaw returns what ffmpeg reads from an Annex-B stream.
func listRaw(t testing.TB, annexB []byte, options ...string) []shown {
	t.Helper()
	p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{InputArgs: []string{"-f", "h264"}, OutputArgs: lines(options)})
	require.NoError(t, err)
	go func() {
		_, _ = p.Stdin.Write(annexB)
		_ = p.Stdin.Close()
	}()
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	return parse(t, out)
}

func lines(options []string) []string {
	return slices.Concat([]string{"-map", "0:v:0"}, options, []string{"-f", "framemd5", "pipe:1"})
}

func parse(t testing.TB, out []byte) []shown {
	t.Helper()
	var all []shown
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), ",")
		require.Len(t, fields, 6, line)
		pts, err := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 64)
		require.NoError(t, err)
		all = append(all, shown{pts: pts, hash: strings.TrimSpace(fields[5])})
	}
	return all
}

// sample returns the bytes of a picture in an MP4: each NAL unit has its length in front.
func sample(annexB []byte) []byte {
	var out []byte
	for _, unit := range bytes.Split(bytes.ReplaceAll(annexB, []byte{0, 0, 0, 1}, []byte{0, 0, 1}), []byte{0, 0, 1})[1:] {
		out = binary.BigEndian.AppendUint32(out, uint32(len(unit)))
		out = append(out, unit...)
	}
	return out
}

// expect returns the listing of an MP4 with these pictures.
func expect(pictures []assemble.Picture) []shown {
	all := make([]shown, len(pictures))
	for i, p := range pictures {
		sum := md5.Sum(sample(p.Data))
		all[i] = shown{pts: p.Time - pictures[0].Time, hash: hex.EncodeToString(sum[:])}
	}
	return all
}

// requireFinished compares the files of a recording with the pictures.
func requireFinished(t testing.TB, s *session, pictures []assemble.Picture) {
	t.Helper()
	var joined []byte
	for _, p := range pictures {
		joined = append(joined, p.Data...)
	}
	require.True(t, bytes.Equal(joined, s.bucket.content(t, record.H264Key(s.folder))), "the Annex-B stream differs")
	require.Equal(t, expect(pictures), list(t, s.bucket.content(t, record.MP4Key(s.folder)), "-c", "copy"))
	for _, p := range s.told() {
		require.False(t, s.bucket.has(t, p.Key), p.Key)
		require.False(t, s.bucket.has(t, strings.TrimSuffix(p.Key, "h264")+"index"), p.Key)
	}
}

// scene returns pictures with everything that gives a recording uneven times: jitter, a gap of lost
// pictures, a pause of 17 s, another rate, another size, and another rate again.
func scene(t testing.TB) []assemble.Picture {
	t.Helper()
	small, large := encode(t, 160, 96, 75, 0), encode(t, 320, 176, 60, 0)
	var pictures []assemble.Picture
	at := int64(7_777)
	for i := range small.pictures {
		if i < 20 || i >= 30 { // 20 to 29 were lost or referred to a lost one
			pictures = append(pictures, small.picture(i, at))
		}
		at += 3000 + int64(i*37%400) - 200
		if i == 44 {
			at += 17 * assemble.ClockRate
		}
	}
	for i := range large.pictures {
		pictures = append(pictures, large.picture(i, at))
		at += []int64{6000, 9001}[i/30]
	}
	return pictures
}

func TestFilesHaveEveryPictureAtItsTime(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	pictures := scene(t)
	for _, p := range pictures {
		s.Push(p)
	}
	require.NoError(t, s.Close(t.Context()))
	require.Greater(t, len(s.told()), 1)
	millis, frames := int64(0), int64(0)
	for _, p := range s.told() {
		millis, frames = millis+p.DurationMillis, frames+p.Frames
	}
	require.Len(t, pictures, int(frames))
	// The last picture lasts as long as the one before it.
	last := pictures[len(pictures)-1].Time - pictures[0].Time + 9001
	require.Equal(t, last*1000/assemble.ClockRate, millis)
	require.NoError(t, s.finish(t))
	requireFinished(t, s, pictures)

	// A player decodes the same pictures of both files. The Annex-B stream has no times.
	every := []string{"-fps_mode", "passthrough"}
	mp4 := list(t, s.bucket.content(t, record.MP4Key(s.folder)), every...)
	raw := listRaw(t, s.bucket.content(t, record.H264Key(s.folder)), every...)
	require.Len(t, mp4, len(pictures))
	require.Len(t, raw, len(pictures))
	for i := range mp4 {
		require.Equal(t, raw[i].hash, mp4[i].hash, "picture %d", i)
	}
}

func TestBFramesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := newSession(t, newBucket(t), record.Options{})
	c := encode(t, 160, 96, 45, 2)
	var pictures []assemble.Picture
	// Each group of 15 is an IDR picture, then P, B, B in the order of sending, and two P at the end.
	order := []int{0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11, 14, 13}
	for i := range c.pictures {
		p := c.picture(i, int64(i)*3000)
		p.Time = int64(i/15*15+order[i%15]) * 3000
		pictures = append(pictures, p)
		s.Push(p)
	}
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.finish(t))
	requireFinished(t, s, pictures)
}

func TestACrashLosesOnlyThePartsThatTheLogDoesNotHave(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	s := newSession(t, b, record.Options{PartBytes: 10_000})
	// The process dies while it stores the fifth part. The log has two parts by then.
	b.fail(func(ctx context.Context, verb, key string) error {
		if verb == "put" && strings.HasSuffix(key, "000005.h264") {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	pictures := scene(t)
	for _, p := range pictures {
		s.Push(p)
	}
	require.Eventually(t, func() bool { return len(s.told()) == 4 && b.has(t, s.folder+"/part-000005.index") }, waitTime, tick)
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Close(dead), context.Canceled)

	b.fail(func(context.Context, string, string) error { return nil })
	s.parts = s.parts[:2]
	require.NoError(t, s.finish(t))
	requireFinished(t, s, pictures[:s.parts[0].Frames+s.parts[1].Frames])
	path, _ := b.LocalPath(s.folder)
	left, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, left, 2, "the two files")
	require.NoError(t, b.DeleteRecording(t.Context(), "st_1"))
	require.NoDirExists(t, path)
}

// TestFinishCanStopAnywhere makes each call of the store fail once, one after the other.
func TestFinishCanStopAnywhere(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	s := newSession(t, b, record.Options{PartBytes: 5_000})
	c := encode(t, 160, 96, 30, 0)
	var pictures []assemble.Picture
	for i := range c.pictures {
		pictures = append(pictures, c.picture(i, int64(i)*3000))
		s.Push(pictures[i])
	}
	require.NoError(t, s.Close(t.Context()))
	require.Greater(t, len(s.told()), 1)
	stops := 0
	for finished := false; !finished; stops++ {
		calls := 0
		b.fail(func(context.Context, string, string) error {
			if calls++; calls == stops+1 {
				return errAway
			}
			return nil
		})
		err := s.finish(t)
		if finished = err == nil; !finished {
			require.ErrorIs(t, err, errAway)
		}
	}
	require.Greater(t, stops, 8)
	b.fail(func(context.Context, string, string) error { return nil })
	require.NoError(t, s.finish(t), "again")
	requireFinished(t, s, pictures)
}

func TestFinishReportsWhatItCannotUse(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	s := newSession(t, b, record.Options{})
	require.ErrorContains(t, s.finish(t), "without parts")
	for i := range 3 { // no decoder can use them
		p := clip{codec: assemble.H264, pictures: [][]byte{bytes.Repeat([]byte{7}, 100)}}.picture(0, int64(i)*3000)
		s.Push(p)
	}
	require.NoError(t, s.Close(t.Context()))
	var refused *ffmpeg.ExitError
	require.ErrorAs(t, s.finish(t), &refused)
	require.Len(t, b.content(t, record.H264Key(s.folder)), 300, "the Annex-B stream exists all the same")

	part := s.told()[0]
	index := strings.TrimSuffix(part.Key, "h264") + "index"
	require.NoError(t, b.Put(t.Context(), index, "", strings.NewReader("VQAIDX1\n\x01\x00"), 10))
	require.ErrorContains(t, s.finish(t), "1 pictures with 1 bytes instead of 3 with 300")
	require.NoError(t, b.Delete(t.Context(), part.Key))
	require.ErrorContains(t, s.finish(t), "part 1")
}
