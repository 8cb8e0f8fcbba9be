package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/sampling"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/language"
)

const (
	// opinionPictures are shown at most, opinionSide pixels on the longer side: a model
	// takes seconds for each.
	opinionFrames = 8
	opinionSide   = 768
	// nearS is how far around an instant its picture may lie, less than half the time
	// between two samples of opinionFPS.
	nearS      = .3
	opinionFPS = 2
)

// second is the result after the vision model was asked, where there is one and the detector
// found no answer. a vision model that is away costs the second opinion; only a question that
// the detector cannot answer at all fails without it, so that it is not billed. The service
// asks itself nothing that costs another's time.
func (z *Analyzer) secondOpinion(ctx context.Context, log *slog.Logger, a analysis.State, v video.State, seen examined, first answer.Result) (answer.Result, error) {
	if !answer.Doubtful(a.Query, first) || a.Origin == analysis.OriginSystem {
		return first, nil
	}
	result, err := z.askVisionModel(ctx, a, v, seen, first)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return first, ctx.Err()
	case first.UnsupportedAction != nil:
		return first, &gpu.UnavailableError{Err: err}
	}
	if z.VisionModel != nil {
		log.Warn("no second opinion", "error", err)
	}
	return first, nil
}

// errNoVisionModel says that this node has nobody to ask.
var errNoVisionModel = errors.New("there is no model for second opinions")

// askVisionModel shows the vision model some frames and believes it as far as the rules allow.
func (z *Analyzer) askVisionModel(ctx context.Context, a analysis.State, v video.State, seen examined, first answer.Result) (answer.Result, error) {
	if z.VisionModel == nil {
		return first, errNoVisionModel
	}
	at, stepS := sampling.ForOpinion(a.Query, seen.Evidence, seen.rules.Vocabulary, opinionFrames)
	source, err := z.Sources.Source(ctx, v.File.ObjectKey)
	if err != nil {
		return first, fmt.Errorf("locating the video: %w", err)
	}
	pictures, err := z.framesAt(ctx, source, at)
	if err != nil {
		return first, err
	}
	if len(pictures) == 0 {
		return answer.WithOpinion(a.Query, first, answer.Opinion{}, seen.DurationS), nil
	}
	o, err := z.VisionModel.Opinion(ctx, a.Prompt, a.Query, pictures)
	if err != nil {
		return first, err
	}
	o.StepS = stepS
	result := answer.WithOpinion(a.Query, first, o, seen.DurationS)
	if result.Receipt != nil {
		receipt := *result.Receipt
		receipt.SecondOpinion = &answer.SecondOpinion{Model: z.VisionModel.Model(), Frames: len(pictures)}
		result.Receipt = &receipt
	}
	return result, nil
}

// picturesAt takes one picture at each instant; each is sought by itself, because what lies
// between may be hours. An instant without a picture is left out.
func (z *Analyzer) framesAt(ctx context.Context, source string, at []float64) ([]language.Frame, error) {
	var pictures []language.Frame
	for _, atS := range at {
		near := frames.Interval{From: max(0, atS-nearS), To: atS + nearS}
		for frame, err := range frames.Sample(ctx, z.FFmpeg, source, frames.Options{FPS: opinionFPS, LongSide: opinionSide, Within: []frames.Interval{near}}) {
			if err != nil {
				return nil, fmt.Errorf("taking a picture at %.2f s: %w", atS, err)
			}
			pictures = append(pictures, language.Frame{AtS: frame.At, JPEG: frame.JPEG})
			break
		}
	}
	return pictures, nil
}
