package doctor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"vqa/gpu"
)

// FixFFmpeg says how to get a usable ffmpeg.
const FixFFmpeg = "run make setup, or set VQA_FFMPEG to the path of ffmpeg 5.1 or newer"

const (
	fixNode     = "install Node 20.6 or newer: https://nodejs.org/en/download"
	fixWorker   = "make setup"
	fixAnalysis = "make setup, which runs the same test and downloads parts that do not work"
	// fixTemporary is for a folder of temporary files that cannot be used.
	fixTemporary = "free space in the folder for temporary files (TMPDIR), and make it writable"
	// pictureTerm is the term that an engine must find in the test frame.
	pictureTerm = "sports ball"
	// pictureScore is the lowest raw score with which the term counts as found.
	pictureScore = 0.3
)

// checkFFmpeg extracts a frame of the fixture in the same way as an analysis.
func checkFFmpeg(ctx context.Context, x *Examination) Finding {
	var err error
	if x.ffmpeg, err = x.OpenFFmpeg(ctx); err != nil {
		return wrong(FixFFmpeg, "%v", err)
	}
	if x.picture, err = x.Picture(ctx, x.ffmpeg); err != nil {
		return wrong(FixFFmpeg, "ffmpeg %s: %v", x.ffmpeg.Version(), err)
	}
	return found("ffmpeg %s at %s extracts frames", x.ffmpeg.Version(), x.ffmpeg.Path())
}

// checkConfinement reports the measures that protect this machine from untrusted files in ffmpeg.
func checkConfinement(_ context.Context, x *Examination) Finding {
	if x.ffmpeg == nil {
		return Finding{Verdict: Warning, Detail: "not checked, because ffmpeg does not work"}
	}
	var active, missing, fixes []string
	for _, m := range x.ffmpeg.Measures() {
		if m.Active {
			active = append(active, m.Name)
			continue
		}
		missing = append(missing, fmt.Sprintf("no %s: %s", m.Name, m.Effect))
		fixes = append(fixes, m.Fix)
	}
	if len(missing) > 0 {
		return Finding{Verdict: Warning, Detail: strings.Join(missing, "; "), Fix: strings.Join(fixes, "; ")}
	}
	return found("ffmpeg runs with limits, without privileges, and under %s", strings.Join(active, ", "))
}

func checkNode(ctx context.Context, x *Examination) Finding {
	if x.EngineServers {
		return found("not needed: VQA_INFERENCE_URL is set")
	}
	version, err := output(ctx, "node", "--version")
	if err != nil {
		return wrong(fixNode, "%v", err)
	}
	return judgeNode(strings.TrimSpace(version))
}

// judgeNode accepts Node 20.6 or newer, as the worker's package.json requires.
func judgeNode(version string) Finding {
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

// checkInference runs the engine on a frame that shows a ball.
func checkInference(ctx context.Context, x *Examination) Finding {
	fix := fixWorker
	if x.EngineServers {
		fix = "check the server at VQA_INFERENCE_URL, or unset it to use the embedded worker"
	}
	if x.picture == nil {
		return Finding{Verdict: Warning, Detail: "not checked, because ffmpeg extracted no frame"}
	}
	var err error
	if x.engine, err = x.OpenEngine(ctx); err != nil {
		return wrong(fix, "%v", err)
	}
	f := detectBall(ctx, x.engine, x.picture, fix)
	if f.Verdict == Broken {
		x.engine.Engine = nil // so that checkAnalysis does not wait for it
	}
	return f
}

// detectBall checks that an engine finds the ball in a picture.
func detectBall(ctx context.Context, engine gpu.Engine, picture []byte, fix string) Finding {
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
		return wrong(fix, "%s does not find the %s in the test frame (score %.2f)", info.Name, pictureTerm, best)
	}
	return found("%s finds the %s in the test frame (score %.2f), %d requests at a time", info.Name, pictureTerm, best, info.Concurrency)
}

// output runs a program and returns its output. An error contains its error output.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
