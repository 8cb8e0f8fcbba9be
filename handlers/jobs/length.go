package jobs

import (
	"math"

	"vqa/domain/sampling"
	"vqa/handlers/survey"
)

// decodedMicros is the length of a video in microseconds, >= 1, as the pass over the whole
// of it tells.
//
// A picture at the last instant means that the video ends after it, and at most a step
// later. The length that is known already is more exact. It stands unless the samples
// contradict it: when a picture was on view after it, or when pictures are missing for more
// than a whole step before it. Then the video is taken to end half a second after the last
// picture. On the base grid that is exact in whole seconds; on the coarse grid it is never
// too much.
//
// It depends on the survey and the known length alone. So every question about a video is
// billed the same, also one that is answered from what was kept.
func (p *examination) decodedMicros(s survey.Survey) int64 {
	pictures := sampling.OnGrid(s.Evidence.Frames, s.StepS)
	if len(pictures) == 0 {
		pictures = s.Evidence.Frames // a single picture may lie beside the grid
	}
	last := 0.0
	if n := len(pictures); n > 0 {
		last = pictures[n-1].At
	}
	if d := p.durationS; d != nil && last <= *d && *d <= last+2*s.StepS {
		return max(1, micros(*d))
	}
	return micros(last + sampling.BaseStepS)
}

// checkLimit stops the look at a video that shows a picture behind the limit of the plan.
func (p *examination) checkLimit(atS float64) error {
	if p.limitS == 0 || atS <= p.limitS {
		return nil
	}
	return &tooLongError{micros(atS + sampling.BaseStepS)}
}

func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }
