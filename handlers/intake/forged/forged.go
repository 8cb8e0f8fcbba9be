package forged

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ClipS is the length of the honest clip, in seconds. It has 10 frames per second.
const ClipS = 6

// Headers are the names of all boxes with a duration.
var Headers = []string{"mvhd", "tkhd", "mdhd", "mehd"}

// File is an MP4 file with a false or unusual length.
type File struct {
	Name string
	Data []byte
	// ClaimedMicros is the length that its header claims, in microseconds, or 0.
	ClaimedMicros int64
	// LengthS is the time for which its first enabled video stream is shown, in seconds.
	LengthS float64
}

// plain are the ffmpeg options for a clip whose frames are stored in the order of their times.
var plain = []string{"-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "10", "-pix_fmt", "yuv420p", "-fps_mode", "vfr"}

// Render makes a clip. source is a lavfi graph. options are output options.
func Render(ctx context.Context, source string, options ...string) ([]byte, error) {
	return render(ctx, []string{source}, options)
}

func render(ctx context.Context, sources, options []string) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "vqa-forged-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover of a test
	path := filepath.Join(dir, "clip.mp4")
	args := []string{"-v", "error", "-y"}
	for _, source := range sources {
		args = append(args, "-f", "lavfi", "-i", source)
	}
	args = append(append(append(args, plain...), options...), path)
	if out, err := exec.CommandContext(ctx, "ffmpeg", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ffmpeg: %w: %s", err, out)
	}
	return os.ReadFile(path)
}

// Test returns a graph that makes a moving test pattern with 10 frames per second.
func Test(seconds float64) string {
	return fmt.Sprintf("testsrc2=size=64x64:rate=10:duration=%v", seconds)
}

// Corpus makes all files.
func Corpus(ctx context.Context) ([]File, error) {
	honest, err := Render(ctx, Test(ClipS))
	if err != nil {
		return nil, err
	}
	const second, claim = 1e6, int64(ClipS * 1e6)
	files := []File{
		{"an honest clip", honest, claim, ClipS},
		{"a movie header of one second", Durations(honest, 1000, "mvhd"), second, ClipS},
		{"durations of zero", Durations(honest, 0, Headers...), 0, ClipS},
		{"durations of minus one second", Durations(honest, -1000, Headers...), (1<<32 - 1000) * 1000, ClipS},
		{"durations of one tick", Durations(honest, 1, Headers...), 1000, ClipS},
		{"an edit list that shows half", edit(honest, ClipS*500), claim, ClipS / 2},
		{"an edit list that claims five hours", edit(honest, 5*3600*1000), claim, ClipS},
		{"a table of times a hundred times as fast", Times(honest, func(ticks uint32) uint32 { return ticks / 100 }), claim, ClipS / 100.},
		{"a table of times a third as fast", Times(Durations(edit(honest, 3*ClipS*1000), 1000, Headers...), func(ticks uint32) uint32 { return 3 * ticks }), second, 3 * ClipS},
	}
	for _, made := range []struct {
		file    File
		sources []string
		options []string
	}{
		{File{Name: "a variable frame rate", LengthS: ClipS, ClaimedMicros: claim}, []string{Test(ClipS) + ",select='lt(t,2)+not(mod(n,7))+gte(n,59)'"}, nil},
		{File{Name: "a short disabled and a long video stream", LengthS: 9, ClaimedMicros: 9e6}, []string{Test(3), Test(9)}, []string{"-map", "0", "-map", "1", "-disposition:v:1", "default"}},
		{File{Name: "a long and a short video stream", LengthS: 9, ClaimedMicros: 9e6}, []string{Test(9), Test(3)}, []string{"-map", "0", "-map", "1"}},
		{File{Name: "sound that is longer than the video", LengthS: 3, ClaimedMicros: 9e6}, []string{Test(3), "sine=duration=9"}, []string{"-c:a", "aac"}},
		{File{Name: "fragments", LengthS: ClipS}, []string{Test(ClipS)}, []string{"-movflags", "+frag_keyframe+empty_moov"}},
		{File{Name: "a length that grows after the first fragment", LengthS: ClipS, ClaimedMicros: second}, []string{Test(ClipS)}, []string{"-movflags", "+frag_keyframe"}},
	} {
		if made.file.Data, err = render(ctx, made.sources, made.options); err != nil {
			return nil, fmt.Errorf("%s: %w", made.file.Name, err)
		}
		files = append(files, made.file)
	}
	return files, nil
}

// Durations sets the duration in some kinds of boxes, in ticks of their time scale. A negative
// duration is written as its two's complement.
func Durations(file []byte, ticks int64, kinds ...string) []byte {
	return patch(file, func(kind string, content []byte) {
		at := map[string]int{"mvhd": 16, "tkhd": 20, "mdhd": 16, "mehd": 4}[kind]
		if at == 0 || !strings.Contains(strings.Join(kinds, " "), kind) {
			return
		}
		if content[0] == 0 {
			binary.BigEndian.PutUint32(content[at:], uint32(ticks)) //nolint:gosec // tests forge any value
			return
		}
		wide := map[string]int{"mvhd": 24, "tkhd": 28, "mdhd": 24, "mehd": 4}[kind]
		binary.BigEndian.PutUint64(content[wide:], uint64(ticks)) //nolint:gosec // tests forge any value
	})
}

// edit sets the duration of the first edit of each track, in ticks of the movie.
func edit(file []byte, ticks uint32) []byte {
	return patch(file, func(kind string, content []byte) {
		if kind == "elst" {
			binary.BigEndian.PutUint32(content[8:], ticks)
		}
	})
}

// Times changes the durations of the frames in the time table.
func Times(file []byte, change func(ticks uint32) uint32) []byte {
	return patch(file, func(kind string, content []byte) {
		if kind != "stts" {
			return
		}
		for i := range binary.BigEndian.Uint32(content[4:]) {
			ticks := content[12+8*i:]
			binary.BigEndian.PutUint32(ticks, change(binary.BigEndian.Uint32(ticks)))
		}
	})
}

// containers are the boxes that contain other boxes.
const containers = "moov trak mdia minf stbl edts mvex"

// patch calls change with the content of each box of a copy, and returns the copy.
func patch(file []byte, change func(kind string, content []byte)) []byte {
	file = bytes.Clone(file)
	walk(file, change)
	return file
}

func walk(boxes []byte, change func(string, []byte)) {
	for len(boxes) >= 8 {
		size, kind := binary.BigEndian.Uint32(boxes), string(boxes[4:8])
		if size < 8 || int(size) > len(boxes) {
			return // the clips are small, so this is the end
		}
		content := boxes[8:size]
		if strings.Contains(containers, kind) {
			walk(content, change)
		}
		change(kind, content)
		boxes = boxes[size:]
	}
}
