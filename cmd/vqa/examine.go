package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/sampling"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/probe"
)

// examinedFrames is the number of frames in one request to the engine.
const examinedFrames = 4

// examiner examines whole clips with the configured engine and keeps what it reported in a folder.
type examiner struct {
	ffmpeg *ffmpeg.Runner
	engine gpu.Engine
	info   gpu.Info
	// folder holds the files of evaluate.Seen.
	folder string
	// side is the longer side of the frames in pixels; 0 is the usual one.
	side int
}

// examineClips returns what the engine reports about each of some clips in dir. A clip with a file in
// folder is not examined again.
func (c config) examineClips(ctx context.Context, dir, folder string, side int, clips []string, notices io.Writer) (map[string]evaluate.Seen, gpu.Info, error) {
	runner, err := c.openFFmpeg(ctx)
	if err != nil {
		return nil, gpu.Info{}, err
	}
	engine, err := c.engine(ctx)
	if err != nil {
		return nil, gpu.Info{}, err
	}
	defer engine.Close()
	info, err := engine.Info(ctx)
	if err != nil {
		return nil, info, err
	}
	x := examiner{ffmpeg: runner, engine: engine, info: info, folder: folder, side: side}
	bar := terminal.NewProgress(notices, "examining", "clips")
	defer bar.Finish()
	seen := map[string]evaluate.Seen{}
	for i, clip := range clips {
		bar.Set(int64(i), int64(len(clips)))
		if seen[clip], err = x.clip(ctx, dir, clip); err != nil {
			return nil, info, fmt.Errorf("%s: %w", clip, err)
		}
	}
	return seen, info, nil
}

// clip reads the file of a clip, or examines the clip and writes it.
func (x examiner) clip(ctx context.Context, dir, clip string) (evaluate.Seen, error) {
	path := evaluate.SeenPath(x.folder, clip, x.info.Weights, x.side)
	seen, err := evaluate.ReadSeen(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return seen, err
	}
	if seen, err = x.examine(ctx, filepath.Join(dir, clip)); err != nil {
		return seen, err
	}
	return seen, seen.Save(path)
}

// examine samples a clip at the finest step and asks for everything that the engine can report.
func (x examiner) examine(ctx context.Context, path string) (evaluate.Seen, error) {
	video, err := probe.New(x.ffmpeg).Probe(ctx, path, probe.Movie{})
	if err != nil {
		return evaluate.Seen{}, err
	}
	source, err := probe.New(x.ffmpeg).Look(ctx, ffmpeg.Source{Name: path})
	if err != nil {
		return evaluate.Seen{}, err
	}
	examined, err := x.sample(ctx, source)
	if err != nil {
		return evaluate.Seen{}, err
	}
	known := slices.Repeat([]bool{true}, len(x.info.Vocabulary))
	seen := evaluate.Seen{
		Engine: answer.Engine{Name: x.info.Name, Weights: x.info.Weights, Digest: x.info.Digest, Worker: x.info.Worker},
		Evidence: evidence.Evidence{
			Terms: x.info.Vocabulary, Known: known, Colors: x.info.Colors, Frames: examined, IntervalS: sampling.FineStepS,
		},
	}
	if video.Width != nil && video.Height != nil && *video.Height > 0 {
		seen.Evidence.Aspect = float64(*video.Width) / float64(*video.Height)
	}
	scanned := sampling.OnGrid(examined, sampling.BaseStepS)
	seen.DecodedS = scanned[len(scanned)-1].At + sampling.BaseStepS
	if video.DurationMicros != nil {
		seen.DecodedS = min(seen.DecodedS, float64(*video.DurationMicros)/1e6)
	}
	return seen, nil
}

// sample decodes a clip while the engine examines the frames before.
func (x examiner) sample(ctx context.Context, source ffmpeg.Source) ([]evidence.Frame, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(x.info.Concurrency, 1) + 1)
	var parts [][]evidence.Frame
	var jpeg [][]byte
	send := func() {
		part, pictures := parts[len(parts)-1], jpeg
		jpeg = nil
		g.Go(func() error { return x.detect(ctx, part, pictures) })
	}
	opts := frames.Options{FPS: 1 / sampling.FineStepS, LongSide: x.side, PPM: x.info.PPM, Map: source.Map(), Colors: source.Light.Filters()}
	for f, err := range frames.Sample(ctx, x.ffmpeg, source.Name, opts) {
		if err != nil {
			return nil, errors.Join(err, g.Wait())
		}
		if len(jpeg) == 0 {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last, jpeg = append(*last, evidence.Frame{At: f.At}), append(jpeg, f.Image)
		if len(jpeg) == examinedFrames {
			send()
		}
	}
	if len(jpeg) > 0 {
		send()
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(parts...), nil
}

// detect adds what the engine reports to some frames.
func (x examiner) detect(ctx context.Context, part []evidence.Frame, pictures [][]byte) error {
	resp, err := x.engine.Detect(ctx, gpu.Request{
		Frames: pictures, Terms: x.info.Vocabulary, WantPose: true, WantColors: len(x.info.Colors) > 0, WantShades: x.info.Shades,
	})
	if err != nil {
		return err
	}
	turned, err := x.turned(ctx, part, pictures)
	if err != nil {
		return err
	}
	for i := range part {
		part[i].Detections = sampling.Again(resp.Frames[i], turned[i])
		if x.info.Shades {
			part[i].Shades = resp.Shades[i]
		}
	}
	return nil
}

// turned are the detections in turned views of those frames that an analysis may examine again.
func (x examiner) turned(ctx context.Context, part []evidence.Frame, pictures [][]byte) ([][]evidence.Detection, error) {
	out := make([][]evidence.Detection, len(part))
	var again [][]byte
	var places []int
	for i, f := range part {
		if x.info.Rotations && x.side == 0 && len(sampling.OnGrid([]evidence.Frame{f}, sampling.BaseStepS)) > 0 {
			again, places = append(again, pictures[i]), append(places, i)
		}
	}
	if len(again) == 0 {
		return out, nil
	}
	resp, err := x.engine.Detect(ctx, gpu.Request{
		Frames: again, Terms: x.info.Vocabulary, WantColors: len(x.info.Colors) > 0, WantRotations: true,
	})
	if err != nil {
		return nil, err
	}
	for k, i := range places {
		out[i] = resp.Frames[k]
	}
	return out, nil
}
