package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/gpu"
	"vqa/gpu/frames"
)

const (
	// sampleFPS is how many frames of each second are looked at.
	sampleFPS = 2
	// batchFrames are sent to the engine together.
	batchFrames = 4
	// DefaultPatience is how long an attempt waits for an engine that went away.
	DefaultPatience = 2 * time.Minute
)

// pass is one look at a whole video for some classes.
type pass struct {
	engine gpu.Engine
	source string
	query  query.Query
	// classes are what the model is asked for to answer the query.
	classes []string
	// pose and colours are asked for where the question needs them: both cost time.
	pose, colours bool
	// aspect is the width of a frame over its height; 0 when unknown.
	aspect    float64
	durationS *float64
	// patience is how long it waits for an engine that went away.
	patience time.Duration
}

// sighting is the evidence of a pass.
type sighting struct {
	answer.Evidence
	// decodedS is the length that was decoded, in seconds.
	decodedS float64
	// info describes the engine that looked.
	info gpu.Info
	// rules are what is known of its model.
	rules answer.Calibration
}

// batch is a run of frames on its way through the engine.
type batch struct {
	at   []float64
	jpeg [][]byte
	resp gpu.Response
	done chan struct{}
}

// look decodes, detects and gathers at the same time: while the engine works on some
// batches the next frames are decoded, so its cores never wait. The batches in
// flight bound the memory; only detections are kept. progress is called in order,
// and its error ends the pass.
func (p *pass) look(ctx context.Context, info gpu.Info, progress func(ctx context.Context, atS float64) error) (sighting, error) {
	g, ctx := errgroup.WithContext(ctx)
	inFlight := max(info.Concurrency, 1) + 1
	order := make(chan *batch, inFlight)
	slots := make(chan struct{}, inFlight)
	g.Go(func() error {
		defer close(order)
		return p.decode(ctx, func(b *batch) error {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			g.Go(func() error {
				defer func() { <-slots }()
				defer close(b.done)
				return p.detect(ctx, b)
			})
			select {
			case order <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	seen := sighting{Evidence: answer.Evidence{Terms: p.classes, Colors: info.Colors, Aspect: p.aspect, IntervalS: 1.0 / sampleFPS}}
	g.Go(func() error { return p.gather(ctx, order, &seen, progress) })
	if err := g.Wait(); err != nil {
		return sighting{}, describe(err)
	}
	return seen, p.finish(&seen)
}

// decode cuts the sampled frames into batches.
func (p *pass) decode(ctx context.Context, emit func(*batch) error) error {
	b := &batch{done: make(chan struct{})}
	for frame, err := range frames.Sample(ctx, p.source, frames.Options{FPS: sampleFPS}) {
		if err != nil {
			return err
		}
		b.at = append(b.at, frame.At)
		b.jpeg = append(b.jpeg, frame.JPEG)
		if len(b.at) < batchFrames {
			continue
		}
		if err := emit(b); err != nil {
			return err
		}
		b = &batch{done: make(chan struct{})}
	}
	if len(b.at) > 0 {
		return emit(b)
	}
	return nil
}

// detect asks the engine, and asks again while it is away: an embedded worker that
// crashed is back within seconds.
func (p *pass) detect(ctx context.Context, b *batch) error {
	deadline := time.Now().Add(p.patience)
	wait := 100 * time.Millisecond
	for {
		var err error
		b.resp, err = p.engine.Detect(ctx, gpu.Request{
			Frames: b.jpeg, Terms: p.classes, WantPose: p.pose, WantColors: p.colours,
		})
		var away *gpu.UnavailableError
		if !errors.As(err, &away) || time.Now().After(deadline) {
			b.jpeg = nil
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

// info waits for the engine as detect does.
func (p *pass) info(ctx context.Context) (gpu.Info, error) {
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

// gather takes the batches in the order of the video.
func (p *pass) gather(ctx context.Context, order <-chan *batch, seen *sighting, progress func(context.Context, float64) error) error {
	for b := range order {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(b.resp.Frames) != len(b.at) {
			return nil // detect failed; its error ends the group
		}
		if seen.Known == nil {
			seen.Known = b.resp.Known
		}
		for i, at := range b.at {
			seen.Frames = append(seen.Frames, answer.Frame{At: at, Detections: b.resp.Frames[i]})
		}
		if err := progress(ctx, b.at[len(b.at)-1]); err != nil {
			return err
		}
	}
	return nil
}

// finish adds how much of the video was decoded.
func (p *pass) finish(seen *sighting) error {
	if len(seen.Frames) == 0 {
		return &inputError{"No frame of the video could be decoded."}
	}
	seen.decodedS = seen.Frames[len(seen.Frames)-1].At + seen.IntervalS
	return nil
}

// measure says how long the video is: as it was probed, else as it was decoded.
func (p *pass) measure(seen *sighting) {
	seen.DurationS = seen.decodedS
	if p.durationS != nil && *p.durationS > 0 {
		seen.DurationS = *p.durationS
	}
}

// describe turns an undecodable video into a failure that the caller understands.
func describe(err error) error {
	var unreadable *frames.UnreadableError
	if errors.As(err, &unreadable) {
		return errors.Join(&inputError{"The video could not be decoded."}, err)
	}
	return fmt.Errorf("looking at the video: %w", err)
}
