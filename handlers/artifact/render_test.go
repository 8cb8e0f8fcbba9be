package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/objects"
)

// The clip has one flat color, so every other color in a frame was drawn.
const (
	clipS   = 4
	clipFPS = 10
)

var flat = color.RGBA{70, 70, 160, 255}

// writeClip makes a video of the flat color with a source filter of ffmpeg.
func writeClip(t *testing.T, size string, seconds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	source := "color=c=0x4646a0:s=" + size + ":r=" + strconv.Itoa(clipFPS) + ":d=" + strconv.Itoa(seconds)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source,
		"-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p", "-colorspace", "bt709", "-color_range", "tv",
		"-c:v", "libx264", "-preset", "ultrafast", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// aDog is visible from 1 s to 2 s, in one place.
func aDog(t *testing.T) Input {
	t.Helper()
	box := evidence.Box{X1: .25, Y1: .25, X2: .5, Y2: .75}
	var frames []evidence.Frame
	for at := 0.0; at < clipS; at += intervalS {
		f := frame(at)
		if at >= 1 && at <= 2 {
			f.Detections = []evidence.Detection{{Box: box, Score: .9}}
		}
		frames = append(frames, f)
	}
	in := input(evidenceOf(frames...), "dog")
	in.Evidence.DurationS = clipS
	in.FPS = clipFPS
	in.Source.Name, in.Size = writeClip(t, "320x180", clipS), image.Pt(320, 180)
	in.Result = answer.Result{Answer: answer.Yes, Confidence: .97, Clips: []answer.Clip{{StartS: 1, EndS: 2.5, Confidence: .97}}}
	return in
}

// frameAt decodes the frame at a time.
func frameAt(t *testing.T, video string, atS float64) image.Image {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-v", "error", "-ss", number(atS), "-i", video, "-frames:v", "1",
		"-vf", "scale=in_color_matrix=bt709:in_range=tv", "-c:v", "png", "-f", "image2pipe", "pipe:1")
	out, err := cmd.Output()
	require.NoError(t, err)
	frame, err := png.Decode(bytes.NewReader(out))
	require.NoError(t, err)
	return frame
}

// requireColor tolerates the loss of the encoding.
func requireColor(t *testing.T, want color.RGBA, frame image.Image, x, y int) {
	t.Helper()
	r, g, b, _ := frame.At(x, y).RGBA()
	for i, part := range [][2]float64{{float64(want.R), float64(r >> 8)}, {float64(want.G), float64(g >> 8)}, {float64(want.B), float64(b >> 8)}} {
		require.InDelta(t, part[0], part[1], 30, "part %d of the pixel %d,%d", i, x, y)
	}
}

// file is the description of a video file by ffmpeg. Static builds lack ffprobe.
type file struct {
	stream         string // "h264 (High) …, yuv420p(tv, bt709, progressive), 640x440 …, 10 fps, …"
	packets, width int
}

func probe(t *testing.T, path string) file {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-hide_banner", "-i", path, "-map", "0", "-c", "copy", "-f", "framecrc", "pipe:1")
	var said bytes.Buffer
	cmd.Stderr = &said
	packets, err := cmd.Output()
	require.NoError(t, err, "%s", &said)
	input, _, found := strings.Cut(said.String(), "Output #0")
	require.True(t, found)
	streams := regexp.MustCompile(`(?m)Stream #.*?: (?:Video: )?(.*)$`).FindAllStringSubmatch(input, -1)
	require.Len(t, streams, 1, "one stream, no sound")
	f := file{stream: streams[0][1], packets: len(regexp.MustCompile(`(?m)^0,`).FindAll(packets, -1))}
	size := regexp.MustCompile(`, (\d+)x\d+`).FindStringSubmatch(f.stream)
	require.NotNil(t, size, f.stream)
	f.width, err = strconv.Atoi(size[1])
	require.NoError(t, err)
	return f
}

func TestVideoShowsTheBox(t *testing.T) {
	t.Parallel()
	in := aDog(t)
	files, err := Render(t.Context(), ffmpegtest.Runner(t), in, t.TempDir())
	require.NoError(t, err)

	said := probe(t, files.Video)
	require.Regexp(t, `^h264 .*, yuv420p\(tv, bt709\b.* 10 fps`, said.stream)
	require.Equal(t, clipS*clipFPS, said.packets)
	require.Equal(t, minSide, said.width, "a small video is enlarged")
	raw, err := os.ReadFile(files.Video)
	require.NoError(t, err)
	require.Less(t, bytes.Index(raw, []byte("moov")), bytes.Index(raw, []byte("mdat")), "it plays while it is loading")

	// The frame is 640x360. The box is from 160,90 to 320,270. Its border is 2 pixels wide and
	// lies inside.
	during, before, after := frameAt(t, files.Video, 1.5), frameAt(t, files.Video, .5), frameAt(t, files.Video, 3)
	green := palette[0].rgb()
	for _, p := range []image.Point{{160, 180}, {318, 180}, {240, 90}, {240, 268}} {
		requireColor(t, green, during, p.X, p.Y)
		requireColor(t, flat, before, p.X, p.Y)
		requireColor(t, flat, after, p.X, p.Y)
	}
	for _, p := range []image.Point{{240, 180}, {150, 180}, {330, 180}, {240, 280}} {
		requireColor(t, flat, during, p.X, p.Y)
	}
	requireColor(t, green, during, 162, 80) // the label above

	// Below it: the background, the answer, and the moving head of the timeline.
	height := during.Bounds().Dy()
	requireColor(t, background.rgb(), during, 636, 364)
	requireColor(t, yes.rgb(), during, 10, 378)
	style, err := styleOf(640)
	require.NoError(t, err)
	p := newPanel(in, style, 640, []interval{{0, clipS}})
	require.Equal(t, 360+p.still.height, height)
	y := 360 + p.bar.Min.Y + p.bar.Dy()/2
	requireColor(t, yes.rgb(), before, p.x(1.7), y)
	requireColor(t, rail.rgb(), before, p.x(3.5), y)
	requireColor(t, bright.rgb(), during, p.x(1.5), 360+p.bar.Min.Y-2)
	requireColor(t, background.rgb(), before, p.x(1.5), 360+p.bar.Min.Y-2)
}

// TestEachPartKeepsItsShape: the second part of a video is tall. It stands in the middle of the wide
// canvas, with its marks.
func TestEachPartKeepsItsShape(t *testing.T) {
	t.Parallel()
	in := aDog(t)
	folder := t.TempDir()
	in.Source.Name = filepath.Join(folder, "joined.mp4")
	run := func(args ...string) {
		out, err := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-nostdin", "-v", "error"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	var stream []byte
	for second, size := range []string{"320x180", "180x320", "180x320", "180x320"} {
		part := filepath.Join(folder, strconv.Itoa(second)+".ts")
		run("-f", "lavfi", "-i", "color=c=0x4646a0:r=10:d=1:s="+size, "-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p",
			"-colorspace", "bt709", "-c:v", "libx264", "-bf", "0", "-output_ts_offset", strconv.Itoa(second), part)
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		stream = append(stream, content...)
	}
	whole := filepath.Join(folder, "whole.ts")
	require.NoError(t, os.WriteFile(whole, stream, 0o600))
	run("-i", whole, "-c", "copy", in.Source.Name)

	files, err := Render(t.Context(), ffmpegtest.Runner(t), in, folder)
	require.NoError(t, err)
	require.Equal(t, clipS*clipFPS, probe(t, files.Video).packets)
	before, during := frameAt(t, files.Video, .5), frameAt(t, files.Video, 1.5)
	requireColor(t, flat, before, 100, 180)
	// The tall part has 202x360 pixels from 218 on, and the box a quarter of that from 268 on.
	requireColor(t, color.RGBA{0, 0, 0, 255}, during, 100, 180)
	requireColor(t, color.RGBA{0, 0, 0, 255}, during, 540, 180)
	requireColor(t, palette[0].rgb(), during, 269, 180)
	requireColor(t, flat, during, 295, 180)
	requireColor(t, flat, during, 400, 180)
}

func TestSheetShowsTheClip(t *testing.T) {
	t.Parallel()
	files, err := Render(t.Context(), ffmpegtest.Runner(t), aDog(t), t.TempDir())
	require.NoError(t, err)
	file, err := os.Open(files.Sheet)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	sheet, err := png.Decode(file)
	require.NoError(t, err)
	require.Greater(t, sheet.Bounds().Dx(), tileSide)
	// The tile starts beside the margin. The border of the box is at a quarter of its width.
	green, found := palette[0].rgb(), 0
	for y := range sheet.Bounds().Dy() {
		for x := tileSide / 4; x < tileSide/4+20; x++ {
			r, g, b, _ := sheet.At(x, y).RGBA()
			if near(green.R, r) && near(green.G, g) && near(green.B, b) {
				found++
			}
		}
	}
	require.Greater(t, found, 100)
}

// TestACountHasASheet draws the intervals of a count in place of clips.
func TestACountHasASheet(t *testing.T) {
	t.Parallel()
	in := aDog(t)
	in.Result.Clips, in.Result.CountEvidence = nil, in.Result.Clips
	files, err := Render(t.Context(), ffmpegtest.Runner(t), in, t.TempDir())
	require.NoError(t, err)
	require.NotEmpty(t, files.Sheet)
	style, err := styleOf(640)
	require.NoError(t, err)
	p := newPanel(in, style, 640, []interval{{0, clipS}})
	requireColor(t, yes.rgb(), frameAt(t, files.Video, .5), p.x(1.7), 360+p.bar.Min.Y+p.bar.Dy()/2)
}

func near(want uint8, got uint32) bool {
	return max(int(want), int(got>>8))-min(int(want), int(got>>8)) < 12
}

func TestWithoutClipsThereIsNoSheet(t *testing.T) {
	t.Parallel()
	in := aDog(t)
	in.Result = answer.Result{Answer: answer.No, Confidence: .9}
	files, err := Render(t.Context(), ffmpegtest.Runner(t), in, t.TempDir())
	require.NoError(t, err)
	require.NotEmpty(t, files.Video)
	require.Empty(t, files.Sheet)
}

// TestExcerpts pretends that the video is longer than it is. The parts beyond its end are
// empty, and only the surroundings of its first clip are shown.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	in := aDog(t)
	in.Source.Name = writeClip(t, "320x180", 8)
	in.Evidence.DurationS = 2 * maxOutputS
	in.Result.Clips = []answer.Clip{{StartS: 3, EndS: 4}, {StartS: 900, EndS: 901}}
	files, err := Render(t.Context(), ffmpegtest.Runner(t), in, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, 5*clipFPS, probe(t, files.Video).packets)

	in.Result.Clips = nil
	files, err = Render(t.Context(), ffmpegtest.Runner(t), in, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, Files{}, files)
}

func TestOddShapes(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"98x402", "2000x100", "64x64"} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			in := aDog(t)
			in.Source.Name = writeClip(t, size, 1)
			_, err := fmt.Sscanf(size, "%dx%d", &in.Size.X, &in.Size.Y)
			require.NoError(t, err)
			in.Question = "Is there a dog, and is it anywhere near the other dog that was here before?"
			files, err := Render(t.Context(), ffmpegtest.Runner(t), in, t.TempDir())
			require.NoError(t, err)
			said := probe(t, files.Video)
			require.LessOrEqual(t, said.width, maxSide)
			require.Equal(t, clipFPS, said.packets)
		})
	}
}

// studio stores its files in a folder.
func studio(t *testing.T) (*Studio, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: dir, PublicURL: "http://service.example", SigningKey: make([]byte, 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &Studio{Objects: store, FFmpeg: ffmpegtest.Runner(t)}, dir
}

func TestStudioStoresAndRemoves(t *testing.T) {
	t.Parallel()
	s, dir := studio(t)
	name := Name{VideoID: "vid_1", AnalysisID: "an_1", Attempt: 2}
	planned := s.Plan(name, aDog(t))
	made, err := s.Make(t.Context(), *planned, aDog(t))
	require.NoError(t, err)
	require.Equal(t, planned, made)
	require.Equal(t, "artifacts/vid_1/an_1.2.mp4", made.VideoKey)
	require.Equal(t, "artifacts/vid_1/an_1.2.png", made.SheetKey)
	for _, key := range []string{made.VideoKey, made.SheetKey} {
		info, err := s.Objects.Stat(t.Context(), key)
		require.NoError(t, err)
		require.Positive(t, info.SizeBytes)
	}
	require.NoError(t, s.Remove(t.Context(), *made))
	require.NoError(t, s.Remove(t.Context(), *made), "a missing file is not an error")
	require.Empty(t, filesIn(t, dir))
}

// TestPlanEqualsResult: a plan names the files that Make stores, without decoding a frame.
func TestPlanEqualsResult(t *testing.T) {
	t.Parallel()
	s, _ := studio(t)
	name := Name{VideoID: "vid_1", AnalysisID: "an_1", Attempt: 1}
	short := aDog(t)
	short.Source.Name = ""
	require.Equal(t, &analysis.Artifacts{VideoKey: "artifacts/vid_1/an_1.1.mp4", SheetKey: "artifacts/vid_1/an_1.1.png"}, s.Plan(name, short))
	counted := short
	counted.Result.Clips, counted.Result.CountEvidence = nil, short.Result.Clips
	require.Equal(t, s.Plan(name, short), s.Plan(name, counted), "a count has a sheet of its evidence")
	unseen := short
	unseen.Result.Clips = nil
	require.Equal(t, &analysis.Artifacts{VideoKey: "artifacts/vid_1/an_1.1.mp4"}, s.Plan(name, unseen), "no clips, no sheet")
	long := unseen
	long.Evidence.DurationS = maxOutputS + 1
	require.Nil(t, s.Plan(name, long), "a long video without clips has no artifacts")
}

func TestFailedTryLeavesNothing(t *testing.T) {
	s, dir := studio(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	broken := aDog(t)
	broken.Source.Name = filepath.Join(t.TempDir(), "absent.mp4")
	planned := analysis.Artifacts{VideoKey: "artifacts/vid_1/an_1.1.mp4", SheetKey: "artifacts/vid_1/an_1.1.png"}
	_, err := s.Make(t.Context(), planned, broken)
	require.ErrorContains(t, err, "No such file")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = s.Make(ctx, planned, aDog(t))
	require.Error(t, err)
	require.Empty(t, filesIn(t, dir))
	require.Empty(t, filesIn(t, temp))
}

// filesIn lists the files below dir, without the mark of an object folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != ".vqa-objects" {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// BenchmarkRender draws a minute of 640x360; s/s is seconds of work per second of video.
func BenchmarkRender(b *testing.B) {
	in := input(evidenceOf(), "dog")
	for at := 0.0; at < 60; at += intervalS {
		in.Evidence.Frames = append(in.Evidence.Frames, frame(at, evidence.Detection{Box: boxAt(at / 100), Score: .9}))
	}
	in.Evidence.DurationS, in.FPS, in.Size = 60, 25, image.Pt(640, 360)
	in.Source.Name = filepath.Join(b.TempDir(), "clip.mp4")
	out, err := exec.CommandContext(b.Context(), "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=60",
		"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", in.Source.Name).CombinedOutput()
	require.NoError(b, err, "%s", out)
	for b.Loop() {
		_, err := Render(b.Context(), ffmpegtest.Runner(b), in, b.TempDir())
		require.NoError(b, err)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/60, "s/s")
}
