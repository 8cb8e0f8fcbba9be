package jobs

import (
	"math"

	"vqa/domain/sampling"
	"vqa/handlers/survey"
)

// decodedMicros is the length of a video in microseconds, >= 1, as the scan of the whole
// video shows it.
//
// A frame at the last instant means that the video ends after it, at most a step later. The
// known length is more exact. It is used unless the samples contradict it: when a frame was
// shown after it, or when frames are missing for more than a whole step before it. Then the
// video is taken to end half a second after the last frame. On the base grid that is exact
// for lengths in whole seconds. On the coarse grid it is never too long.
//
// The length depends only on the survey and the known length. So every question about a
// video is billed the same, even when it is answered from the stored survey.
func (p *examination) decodedMicros(s survey.Survey) int64 {
	samples := sampling.OnGrid(s.Evidence.Frames, s.StepS)
	if len(samples) == 0 {
		samples = s.Evidence.Frames // a single frame may lie beside the grid
	}
	last := 0.0
	if n := len(samples); n > 0 {
		last = samples[n-1].At
	}
	if d := p.durationS; d != nil && last <= *d && *d <= last+2*s.StepS {
		return max(1, micros(*d))
	}
	return micros(last + sampling.BaseStepS)
}

// checkLimit ends the scan of a video with a frame beyond the limit of the plan.
func (p *examination) checkLimit(atS float64) error {
	if p.limitS == 0 || atS <= p.limitS {
		return nil
	}
	return &tooLongError{micros(atS + sampling.BaseStepS)}
}

func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }
