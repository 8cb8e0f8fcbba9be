package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/intake/forged"
)

var x264 = []string{"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"}

// changed returns a copy of a file in which change has edited the content of the nth box of a kind.
func changed(t testing.TB, file []byte, kind string, n int, change func(content []byte)) []byte {
	t.Helper()
	file = bytes.Clone(file)
	at := 0
	for range n + 1 {
		next := bytes.Index(file[at:], []byte(kind))
		require.GreaterOrEqual(t, next, 0, kind)
		at += next + 4
	}
	change(file[at:])
	return file
}

// TestRefusalsSayWhy: a refusal names what is wrong with the file and, where there is a way, what to do.
func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	plain := read(t, render(t, "plain.mp4"))
	front := read(t, render(t, "front.mp4", append(x264, "-movflags", "+faststart")...))
	media := bytes.Index(front, []byte("mdat"))
	require.Positive(t, media)
	picture := render(t, "cover.png", "-frames:v", "1")
	cover := filepath.Join(t.TempDir(), "cover.mp4")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=duration=1", "-i", picture,
		"-map", "0", "-map", "1", "-c:a", "aac", "-c:v", "png", "-disposition:v:0", "attached_pic", cover).CombinedOutput()
	require.NoError(t, err, "%s", out)
	secret := render(t, "secret.mp4")
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"empty":                       {nil, "empty"},
		"text":                        {[]byte(strings.Repeat("this is not a video\n", 1000)), "text/plain"},
		"a web page":                  {[]byte("<!DOCTYPE html><html><body>404</body></html>"), "text/html"},
		"JSON":                        {[]byte(`{"error":"not found"}`), "text/plain"},
		"an archive":                  {[]byte("PK\x03\x04and more"), "application/zip"},
		"noise":                       {[]byte("\x81\x92\x03\x04\x05\x06\x07\x08\x09"), "not a media file"},
		"a playlist":                  {[]byte("#EXTM3U\n#EXTINF:2,\nfile://" + secret + "\n#EXT-X-ENDLIST\n"), "not a video"},
		"a concat script":             {[]byte("ffconcat version 1.0\nfile '" + secret + "'\n"), "not a video"},
		"Matroska":                    {read(t, render(t, "a.mkv")), "WebM or Matroska, not MP4 or QuickTime. Convert it: ffmpeg -i"},
		"AVI":                         {read(t, render(t, "a.avi")), "video/avi, not MP4"},
		"FLV":                         {read(t, render(t, "a.flv")), "FLV"},
		"a transport stream":          {read(t, render(t, "a.ts")), "MPEG transport stream"},
		"a GIF":                       {read(t, render(t, "a.gif", "-t", "0.2", "-an")), "image/gif"},
		"a raw stream":                {read(t, render(t, "a.h264")), "raw video stream"},
		"no index":                    {front[media-4:], "no index (moov)"},
		"the index is at the cut end": {plain[:len(plain)/2], "its index (moov), is missing"},
		"the index is cut":            {front[:media/2], "its index (moov), is missing"},
		"sound only":                  {read(t, render(t, "sound.mp4", "-vn", "-map", "1", "-c:a", "aac")), "no video stream"},
		"sound with a cover":          {read(t, cover), "no video stream"},
		"an encrypted track":          {read(t, render(t, "secret.mp4", append(x264, "-an", "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", strings.Repeat("76", 16), "-encryption_kid", strings.Repeat("a7", 16))...)), "encrypted (DRM)"},
		"an encrypted sample entry":   {bytes.Replace(plain, []byte("avc1\x00"), []byte("encv\x00"), 1), "encrypted (DRM)"},
		"an unknown codec":            {bytes.Replace(plain, []byte("avc1\x00"), []byte("zzz9\x00"), 1), `codec "zzz9", which this service cannot decode. Convert it: ffmpeg -i`},
		"the frames are overwritten":  {append(bytes.Clone(front[:media+4]), make([]byte, len(front)-media-4)...), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := examine(t, p, write(t, "file.mp4", c.file))
			if short, cut := errors.AsType[*CutError](err); cut {
				require.True(t, short.Index)
			} else {
				require.True(t, fault.Has(err, fault.VideoUnreadable), "%v", err)
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}

// TestCutFiles: a file that ends before the end of its last frame is cut, wherever it ends.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	gop := append(x264, "-g", "10", "-map", "0")
	for name, file := range map[string][]byte{
		"index first":         read(t, render(t, "a.mp4", append(gop, "-movflags", "+faststart")...)),
		"fragments":           read(t, render(t, "b.mp4", append(gop, "-movflags", "+frag_keyframe+empty_moov")...)),
		"fragments like DASH": read(t, render(t, "c.mp4", append(gop, "-movflags", "+frag_keyframe+empty_moov+default_base_moof+omit_tfhd_offset")...)),
		"a fragment a frame":  read(t, render(t, "d.mp4", append(gop, "-movflags", "+frag_every_frame+empty_moov+default_base_moof")...)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Inspect(bytes.NewReader(file))
			require.NoError(t, err)
			// The last frame ends before the index of fragments, which players do not need.
			end := len(file)
			if index := bytes.LastIndex(file, []byte("mfra")); index > 0 {
				end = index - 4
			}
			_, err = Inspect(bytes.NewReader(file[:end]))
			require.NoError(t, err, "without the index of fragments")
			for _, missing := range []int{1, 100, 1000} {
				_, err = Inspect(bytes.NewReader(file[:end-missing]))
				short, cut := errors.AsType[*CutError](err)
				require.True(t, cut, "without the last %d bytes: %v", missing, err)
				require.False(t, short.Index)
				require.EqualValues(t, end-missing, short.Bytes)
			}
		})
	}
}

// TestWideTables: a cut file is found with chunk offsets of 64 bits, and with a constant size of samples.
func TestWideTables(t *testing.T) {
	t.Parallel()
	box := func(name string, content ...uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(8+4*len(content)))
		b = append(b, name...)
		for _, field := range content {
			b = binary.BigEndian.AppendUint32(b, field)
		}
		return b
	}
	runs := box("stsc", 0, 2, 1, 2, 1, 3, 1, 1)
	for name, tables := range map[string][]byte{
		"co64":            bytes.Join([][]byte{runs, box("stsz", 0, 0, 5, 10, 10, 10, 10, 60), box("co64", 0, 3, 0, 100, 1, 0, 0, 40)}, nil),
		"a constant size": bytes.Join([][]byte{runs, box("stsz", 0, 10, 5), box("stco", 0, 3, 100, 1<<31, 40)}, nil),
		"16 bits":         bytes.Join([][]byte{runs, box("stz2", 0, 16, 5, 10<<16|10, 10<<16|10, 60<<16), box("stco", 0, 3, 100, 200, 40)}, nil),
	} {
		b := &boxes{file: bytes.NewReader(tables), until: time.Now().Add(time.Minute)}
		want := map[string]int64{"co64": 1<<32 + 20, "a constant size": 1<<31 + 20, "16 bits": 220}[name]
		require.Equal(t, want, b.tablesEnd(byteRange{0, int64(len(tables))}), name)
	}
}

// TestTheFirstEnabledTrackCounts, as in browsers. Attached pictures, chapters and tracks that only
// accompany another one never count.
func TestTheFirstEnabledTrackCounts(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	disable := func(file []byte, tracks ...int) []byte {
		for _, n := range tracks {
			file = changed(t, file, "tkhd", n, func(content []byte) { content[3] &^= 1 })
		}
		return file
	}
	var args []string
	for _, size := range []string{"64x64", "80x80", "96x96"} {
		args = append(args, "-f", "lavfi", "-i", "testsrc2=size="+size+":rate=10:duration=1")
	}
	path := filepath.Join(t.TempDir(), "three.mp4")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-v", "error"}, args...),
		"-map", "0", "-map", "1", "-map", "2", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-disposition:v", "default", path)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	three := read(t, path)
	// The edit list of the first track becomes a reference: "edts" is at 0, "elst" at 8.
	refer := func(kind string) []byte {
		at := bytes.Index(three, []byte("edts"))
		require.Positive(t, at)
		file := bytes.Clone(three)
		copy(file[at:], "tref")
		copy(file[at+8:], kind)
		for i := at + 12; i < at-4+int(binary.BigEndian.Uint32(file[at-4:])); i += 4 {
			binary.BigEndian.PutUint32(file[i:], 2)
		}
		return file
	}
	for name, c := range map[string]struct {
		file  []byte
		width int
	}{
		"all enabled":              {three, 64},
		"the first disabled":       {disable(three, 0), 80},
		"the first two disabled":   {disable(three, 0, 1), 96},
		"all disabled":             {disable(three, 0, 1, 2), 64},
		"the first is a thumbnail": {refer("thmb"), 80},
		"the first is a depth map": {refer("auxl"), 80},
		"the second has chapters":  {refer("chap"), 64},
		"one id for two tracks":    {changed(t, three, "tkhd", 1, func(content []byte) { content[15] = 1 }), 64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := examine(t, p, write(t, "three.mp4", c.file))
			require.NoError(t, err)
			require.Equal(t, c.width, *found.Width)
		})
	}
}

// TestManyBoxes: the time does not grow with tracks multiplied by references to chapters, nor with fragments multiplied by
// boxes of the movie.
func TestManyBoxes(t *testing.T) {
	t.Parallel()
	box := func(name string, contents ...[]byte) []byte {
		content := bytes.Join(contents, nil)
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(content))), name...), content...)
	}
	handler := box("mdia", box("hdlr", []byte("\x00\x00\x00\x00\x00\x00\x00\x00vide")))
	plain, references := box("trak", box("tkhd", make([]byte, 16)), handler), bytes.Repeat([]byte{1}, maxTableBytes)
	empty := func(name string) []byte { return bytes.Repeat(box(name), maxBoxes-10) }
	for name, file := range map[string][]byte{
		"fragments":                append(box("moov", plain, empty("free"), box("mvex")), empty("moof")...),
		"one with many references": box("moov", box("trak", box("tref", box("chap", references)), handler), bytes.Repeat(plain, 20_000)),
		"many with many":           box("moov", bytes.Repeat(box("trak", box("tref", box("chap", references[:4<<10])), box("tkhd", make([]byte, 16)), handler), 5_000)),
	} {
		began := time.Now()
		_, err := Inspect(bytes.NewReader(file))
		require.NoError(t, err, name)
		require.Less(t, time.Since(began), 4*time.Second, name)
	}
}

// FuzzInspect: any bytes are refused, or have a length that is nil or positive.
func FuzzInspect(f *testing.F) {
	file, err := forged.Render(f.Context(), forged.Test(.2))
	require.NoError(f, err)
	f.Add(file[bytes.Index(file, []byte("moov"))-4:])
	fragments, err := forged.Render(f.Context(), forged.Test(.2), "-movflags", "+frag_every_frame+empty_moov")
	require.NoError(f, err)
	f.Add(fragments[bytes.Index(fragments, []byte("moov"))-4:])
	f.Add([]byte("\x00\x00\x00\x01moov\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x00moov\x00\x00\x00\x20mvhd\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		movie, err := Inspect(bytes.NewReader(data))
		_, cut := errors.AsType[*CutError](err)
		require.True(t, err == nil || cut || fault.Has(err, fault.VideoUnreadable), "%v", err)
		require.True(t, movie.ClaimedMicros == nil || *movie.ClaimedMicros > 0)
	})
}
