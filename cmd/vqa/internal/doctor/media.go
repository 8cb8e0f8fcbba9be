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

const (
	FixFFmpeg   = "make setup, or name ffmpeg 5.1 or newer in VQA_FFMPEG"
	fixNode     = "install Node 20.6 or newer: https://nodejs.org/en/download"
	fixWorker   = "make setup"
	fixAnalysis = "make setup, which tests the same and fetches what does not work"
	// fixTemporary is for a folder of temporary files that cannot be used.
	fixTemporary = "make the folder for temporary files writable and make room in it (TMPDIR)"
	// pictureTerm is what an engine must see in the picture.
	pictureTerm = "sports ball"
	// pictureScore is the least raw score that counts as seen.
	pictureScore = 0.3
)

// checkFFmpeg extracts a frame of the fixture as an analysis does.
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

// checkConfinement reports the measures under which ffmpeg reads untrusted files.
func checkConfinement(_ context.Context, x *Examination) Finding {
	if x.ffmpeg == nil {
		return Finding{Verdict: Warning, Detail: "not checked: it needs ffmpeg"}
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

// judgeNode takes 20.6 or newer, which the worker's package.json asks for.
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

// checkInference lets the engine look at a picture in which the truth is known.
func checkInference(ctx context.Context, x *Examination) Finding {
	fix := fixWorker
	if x.EngineServers {
		fix = "check the server at VQA_INFERENCE_URL, or unset it to use the embedded worker"
	}
	if x.picture == nil {
		return Finding{Verdict: Warning, Detail: "not checked: it needs a picture from ffmpeg"}
	}
	var err error
	if x.engine, err = x.OpenEngine(ctx); err != nil {
		return wrong(fix, "%v", err)
	}
	f := look(ctx, x.engine, x.picture, fix)
	if f.Verdict == Broken {
		x.engine.Engine = nil // an analysis would only wait for it
	}
	return f
}

// look judges what an engine sees in the picture.
func look(ctx context.Context, engine gpu.Engine, picture []byte, fix string) Finding {
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
