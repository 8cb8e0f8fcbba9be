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
	"vqa/gpu/chat"
	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/language"
)

const (
	// opinionFrames is the largest number of frames that a vision model is shown,
	// opinionSide their longer side in pixels. A model takes seconds for each frame.
	opinionFrames = 8
	opinionSide   = 768
	// nearS is the largest distance of a frame from its instant, in seconds. It is less
	// than half the time between two samples of opinionFPS.
	nearS      = .3
	opinionFPS = 2
)

// secondOpinion is the result after a vision model was asked, if the detector found no
// answer and there is a model. When the vision model fails, the first result stays. A question
// that the detector cannot answer at all waits for a model that does not answer. It fails
// without a model, and when the model refuses, so that it is not billed. Questions of the service itself never use a vision model, because others would
// wait for it.
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
	case first.UnsupportedAction != nil && errors.Is(err, chat.ErrUnavailable):
		return first, &gpu.UnavailableError{Err: err}
	case first.UnsupportedAction != nil:
		return first, &visionError{err}
	}
	if z.VisionModel != nil {
		log.Warn("asking the vision model failed", "error", err)
	}
	return first, nil
}

// visionError says that only a vision model can answer a question, and that it did not.
type visionError struct{ err error }

func (e *visionError) Error() string { return e.err.Error() }
func (e *visionError) Unwrap() error { return e.err }

// errNoVisionModel is the error of a node without a vision model.
var errNoVisionModel = errors.New("no vision model is configured")

// askVisionModel shows the vision model some frames and applies its opinion within the
// rules.
func (z *Analyzer) askVisionModel(ctx context.Context, a analysis.State, v video.State, seen examined, first answer.Result) (answer.Result, error) {
	if z.VisionModel == nil {
		return first, errNoVisionModel
	}
	at, stepS := sampling.ForOpinion(a.Query, seen.Evidence, seen.rules.Vocabulary, opinionFrames)
	source, err := z.Sources.Source(ctx, v.File.ObjectKey)
	if err != nil {
		return first, fmt.Errorf("locate the video: %w", err)
	}
	shown, err := z.framesAt(ctx, source, at)
	if err != nil {
		return first, err
	}
	if len(shown) == 0 {
		return answer.WithOpinion(a.Query, first, answer.Opinion{}, seen.DurationS), nil
	}
	o, err := z.VisionModel.Opinion(ctx, a.Prompt, a.Query, shown)
	if err != nil {
		return first, err
	}
	o.StepS = stepS
	result := answer.WithOpinion(a.Query, first, o, seen.DurationS)
	if result.Receipt != nil {
		receipt := *result.Receipt
		receipt.SecondOpinion = &answer.SecondOpinion{Model: z.VisionModel.Model(), Frames: len(shown)}
		result.Receipt = &receipt
	}
	return result, nil
}

// framesAt decodes one frame at each instant. Each is sought separately, because hours may
// lie between them. An instant without a frame is left out.
func (z *Analyzer) framesAt(ctx context.Context, source ffmpeg.Source, at []float64) ([]language.Frame, error) {
	var shown []language.Frame
	for _, atS := range at {
		near := frames.Interval{From: max(0, atS-nearS), To: atS + nearS}
		opts := frames.Options{
			FPS: opinionFPS, LongSide: opinionSide, Within: []frames.Interval{near}, Map: source.Map(), Colors: source.Light.Filters(),
		}
		for frame, err := range frames.Sample(ctx, z.FFmpeg, source.Name, opts) {
			if err != nil {
				return nil, fmt.Errorf("decode the frame at %.2f s: %w", atS, err)
			}
			shown = append(shown, language.Frame{AtS: frame.At, JPEG: frame.Image})
			break
		}
	}
	return shown, nil
}
