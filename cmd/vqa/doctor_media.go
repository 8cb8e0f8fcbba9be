package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"vqa/gpu"
	"vqa/handlers/media/fixture"
)

const (
	fixFFmpeg = "sudo apt-get install -y ffmpeg"
	fixNode   = "install Node 20.6 or newer: https://nodejs.org/en/download"
	fixWorker = "make setup"
	// pictureAtS is when the ball of the fixture is in the middle of the room.
	pictureAtS = "2.25"
	// pictureTerm is what an engine must see in the picture.
	pictureTerm = "sports ball"
	// pictureScore is the least raw score that counts as seen.
	pictureScore = 0.3
)

// checkFFmpeg decodes the fixture, which is H.264.
func checkFFmpeg(ctx context.Context, x *examination) finding {
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			return wrong(fixFFmpeg, "%s is not installed", tool)
		}
	}
	version, err := output(ctx, "ffmpeg", "-version")
	if err != nil {
		return wrong(fixFFmpeg, "%v", err)
	}
	dir, err := os.MkdirTemp("", "vqa-doctor-")
	if err != nil {
		return wrong("make the folder for temporary files writable (TMPDIR)", "%v", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover of 20 kB
	clip := filepath.Join(dir, fixture.Filename)
	if err := os.WriteFile(clip, fixture.Bytes(), 0o600); err != nil {
		return wrong("make room in the folder for temporary files (TMPDIR)", "%v", err)
	}
	codec, err := output(ctx, "ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", clip)
	if err != nil || strings.TrimSpace(codec) != "h264" {
		return wrong(fixFFmpeg, "ffprobe cannot read an MP4 file: %s %v", strings.TrimSpace(codec), err)
	}
	picture, err := output(ctx, "ffmpeg", "-nostdin", "-v", "error", "-ss", pictureAtS, "-i", clip,
		"-frames:v", "1", "-pix_fmt", "yuvj420p", "-q:v", "3", "-c:v", "mjpeg", "-f", "image2pipe", "pipe:1")
	if err != nil || picture == "" {
		return wrong(fixFFmpeg, "ffmpeg cannot decode H.264: %v", err)
	}
	x.picture = []byte(picture)
	return found("%s, decodes H.264", ffmpegVersion(version))
}

// ffmpegVersion is the release out of the first line of `ffmpeg -version`.
func ffmpegVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line, _, _ = strings.Cut(line, " Copyright")
	return strings.TrimSpace(line)
}

func checkNode(ctx context.Context, x *examination) finding {
	if len(x.InferenceURL) > 0 {
		return found("not needed: VQA_INFERENCE_URL is set")
	}
	version, err := output(ctx, "node", "--version")
	if err != nil {
		return wrong(fixNode, "%v", err)
	}
	return judgeNode(strings.TrimSpace(version))
}

// judgeNode takes 20.6 or newer, which the worker's package.json asks for.
func judgeNode(version string) finding {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	major, err := strconv.Atoi(parts[0])
	minor := 0
	if err == nil && len(parts) > 1 {
		minor, err = strconv.Atoi(parts[1])
	}
	if err != nil || major < 20 || major == 20 && minor < 6 {
		return wrong(fixNode, "Node %s is too old", version)
	}
	return found("Node %s", version)
}

// checkInference lets the engine look at a picture in which the truth is known.
func checkInference(ctx context.Context, x *examination) finding {
	fix := fixWorker
	if len(x.InferenceURL) > 0 {
		fix = "check the server at VQA_INFERENCE_URL, or unset it to use the embedded worker"
	}
	if x.picture == nil {
		return finding{Verdict: warning, Detail: "not checked: it needs a picture from ffmpeg"}
	}
	s := &server{}
	defer func() {
		for _, closeEngine := range s.closers {
			_ = closeEngine() // the finding stands
		}
	}()
	if err := s.openEngine(ctx, x.config, slog.New(slog.DiscardHandler)); err != nil {
		return wrong(fix, "%v", err)
	}
	return look(ctx, s.engine, x.picture, fix)
}

// look judges what an engine sees in the picture.
func look(ctx context.Context, engine gpu.Engine, picture []byte, fix string) finding {
	seen, err := engine.Detect(ctx, gpu.Request{Frames: [][]byte{picture}, Terms: []string{pictureTerm}})
	if err != nil {
		return wrong(fix, "%v", err)
	}
	info, err := engine.Info(ctx)
	if err != nil {
		return wrong(fix, "%v", err)
	}
	best := 0.0
	for _, d := range seen.Frames[0] {
		best = max(best, d.Score)
	}
	if best < pictureScore {
		return wrong(fix, "%s does not see the %s of the test picture (score %.2f)", info.Name, pictureTerm, best)
	}
	return found("%s sees the %s of the test picture (score %.2f), %d at a time", info.Name, pictureTerm, best, info.Concurrency)
}

// output runs a tool and returns what it prints; an error carries its complaint.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
