package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/sampling"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg"
)

const (
	// batchFrames is the number of frames sent to the engine together.
	batchFrames = 4
	// defaultPatience is how long an attempt waits for an engine that does not answer.
	defaultPatience = 2 * time.Minute
	// defaultSaveEvery is the time between two saves of a survey during a scan.
	defaultSaveEvery = time.Minute
)

// examination is what one question needs of a video.
type examination struct {
	engine gpu.Engine
	ffmpeg frames.FFmpeg
	source ffmpeg.Source
	query  query.Query
	// plan is the sampling plan. It is set when the vocabulary of the model is known.
	plan sampling.Plan
	// everything asks for the evidence of all terms of the survey instead of that of the
	// query. See sampling.Plan.
	everything bool
	// unsaved is true when the video may be deleted during the examination. The survey is
	// not saved then: it would stay when its video is deleted.
	unsaved bool
	// pose is true when the question needs keypoints. They take time.
	pose bool
	// aspect is the width of a frame over its height; 0 when unknown.
	aspect    float64
	durationS *float64
	// limitS is the longest video that the plan of the account allows, in seconds; 0 means no
	// limit.
	limitS float64
	// patience is how long to wait for an engine that does not answer.
	patience time.Duration
}

// scan is one decoding run over a range of the video with one step.
type scan struct {
	terms                []string
	pose, colors, shades bool
	// turned examines turned views, too.
	turned bool
	// ppm sends frames as PPM, where the engine reads it.
	ppm bool
	// colorsFrom is the score below which colors are dropped. Most detections are noise,
	// and their colors would take most of the memory.
	colorsFrom float64
	// stepS is the time between two instants, in seconds.
	stepS float64
	// at are the instants to examine, in order and on the grid of stepS; nil for the whole
	// video.
	at []float64
	// fromS is the first instant of a scan of the whole video, in seconds and on the grid.
	fromS float64
}

// framesFunc receives some frames with their detections, and the terms that the model can
// assess. It is called in the order of the video. An error ends the scan.
type framesFunc func(ctx context.Context, seen []evidence.Frame, known []bool) error

// batch is a group of frames on its way through the engine.
type batch struct {
	at     []float64
	images [][]byte
	resp   gpu.Response
	done   chan struct{}
}

// scan decodes, detects and gathers at the same time. While the engine works on some
// batches, the next frames are decoded, so its cores never wait. The number of batches in
// flight bounds the memory: only detections are kept.
func (p *examination) scan(ctx context.Context, l scan, info gpu.Info, take framesFunc) error {
	g, ctx := errgroup.WithContext(ctx)
	inFlight := max(info.Concurrency, 1) + 1
	order := make(chan *batch, inFlight)
	slots := make(chan struct{}, inFlight)
	g.Go(func() error {
		defer close(order)
		return p.decode(ctx, l, func(b *batch) error {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			g.Go(func() error {
				defer func() { <-slots }()
				defer close(b.done)
				return p.detect(ctx, l, b)
			})
			select {
			case order <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	g.Go(func() error { return gather(ctx, l, order, take) })
	if err := g.Wait(); err != nil {
		return describe(err)
	}
	return nil
}

// decode groups the sampled frames into batches.
func (p *examination) decode(ctx context.Context, l scan, emit func(*batch) error) error {
	b := &batch{done: make(chan struct{})}
	full := 1 // the engine can start with the first frame
	for _, opts := range l.decodes() {
		opts.Map, opts.Colors, opts.PPM = p.source.Map(), p.source.Light.Filters(), l.ppm
		for frame, err := range frames.Sample(ctx, p.ffmpeg, p.source.Name, opts) {
			if l.at != nil && unreadable(err) {
				break // a damaged part shows nothing; the scan of the whole video has succeeded
			}
			if err != nil {
				return err
			}
			b.at = append(b.at, frame.At)
			b.images = append(b.images, frame.Image)
			if len(b.at) < full {
				continue
			}
			if err := emit(b); err != nil {
				return err
			}
			full = min(full+2, batchFrames)
			b = &batch{done: make(chan struct{})}
		}
	}
	if len(b.at) > 0 {
		return emit(b)
	}
	return nil
}

// detect asks the engine, and asks again while the engine does not answer. An embedded
// worker that crashed is back within seconds.
func (p *examination) detect(ctx context.Context, l scan, b *batch) error {
	deadline := time.Now().Add(p.patience)
	wait := 100 * time.Millisecond
	for {
		var err error
		b.resp, err = p.engine.Detect(ctx, gpu.Request{
			Frames: b.images, Terms: l.terms, WantPose: l.pose, WantColors: l.colors, WantShades: l.shades, WantRotations: l.turned,
		})
		var away *gpu.UnavailableError
		if !errors.As(err, &away) || time.Now().After(deadline) {
			b.images = nil
			return err
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, 2*time.Second)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// info asks the engine for its description and waits for it as detect does.
func (p *examination) info(ctx context.Context) (gpu.Info, error) {
	deadline := time.Now().Add(p.patience)
	for {
		info, err := p.engine.Info(ctx)
		var away *gpu.UnavailableError
		if !errors.As(err, &away) || time.Now().After(deadline) {
			return info, err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return gpu.Info{}, ctx.Err()
		}
	}
}

// gather passes on the batches in the order of the video.
func gather(ctx context.Context, l scan, order <-chan *batch, take framesFunc) error {
	for b := range order {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(b.resp.Frames) != len(b.at) {
			return nil // detect failed; its error ends the group
		}
		seen := make([]evidence.Frame, len(b.at))
		for i, at := range b.at {
			seen[i] = evidence.Frame{At: at, Detections: l.keep(b.resp.Frames[i])}
			if l.shades {
				seen[i].Shades = b.resp.Shades[i]
			}
		}
		if err := take(ctx, seen, b.resp.Known); err != nil {
			return err
		}
	}
	return nil
}

// keep returns a copy of the detections without spare capacity, and without the colors of
// those that score below colorsFrom.
func (l scan) keep(all []evidence.Detection) []evidence.Detection {
	if len(all) == 0 {
		return nil
	}
	kept := make([]evidence.Detection, len(all))
	copy(kept, all)
	for i := range kept {
		if kept[i].Score < l.colorsFrom {
			kept[i].Colors = nil
		}
	}
	return kept
}

func unreadable(err error) bool {
	_, is := errors.AsType[*frames.UnreadableError](err)
	return is
}

// describe turns an undecodable video into a failure that the caller understands.
func describe(err error) error {
	if unreadable(err) {
		return errors.Join(&inputError{"The video could not be decoded."}, err)
	}
	return fmt.Errorf("examine the video: %w", err)
}

// seekS is the distance between two instants from which ffmpeg is started again, in
// seconds. Starting it and decoding from the keyframe costs about as much as decoding that
// long.
const seekS = 5

// coarse scans may return a frame that is a little older, see package frames.
func (l scan) coarse() bool { return l.stepS > sampling.BaseStepS }

// decodes are the ffmpeg runs that yield the instants of a scan.
func (l scan) decodes() []frames.Options {
	if l.at == nil {
		all := frames.Options{FPS: 1 / l.stepS, Coarse: l.coarse()}
		if l.fromS > 0 {
			all.Within = []frames.Interval{{From: l.fromS, To: frames.End}}
		}
		return []frames.Options{all}
	}
	var runs []frames.Options
	last := -2.0 * seekS
	for _, t := range l.at {
		if n := len(runs); t-last > seekS || len(runs[n-1].Within) == frames.MaxIntervals {
			runs = append(runs, frames.Options{FPS: 1 / l.stepS, Coarse: l.coarse()})
		}
		run := &runs[len(runs)-1]
		if n := len(run.Within); n > 0 && t-last <= l.stepS {
			run.Within[n-1].To = t
		} else {
			run.Within = append(run.Within, frames.Interval{From: t, To: t})
		}
		last = t
	}
	return runs
}
