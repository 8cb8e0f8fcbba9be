package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/language"
)

const (
	// opinionPictures are shown at most, opinionSide pixels on the longer side: a model
	// takes seconds for each.
	opinionPictures = 8
	opinionSide     = 768
	// nearS is how far around an instant its picture may lie, less than half the time
	// between two samples of opinionFPS.
	nearS      = .3
	opinionFPS = 2
)

// second is the result after the vision model was asked, where there is one and the detector
// found no answer. a vision model that is away costs the second opinion; only a question that
// the detector cannot answer at all fails without it, so that it is not billed. The service
// asks itself nothing that costs another's time.
func (z *Analyzer) second(ctx context.Context, log *slog.Logger, a analysis.State, v video.State, seen sighting, first answer.Result) (answer.Result, error) {
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
func (z *Analyzer) askVisionModel(ctx context.Context, a analysis.State, v video.State, seen sighting, first answer.Result) (answer.Result, error) {
	if z.VisionModel == nil {
		return first, errNoVisionModel
	}
	at, stepS := moments(a.Query, seen, opinionPictures)
	source, err := z.Sources.Source(ctx, v.File.ObjectKey)
	if err != nil {
		return first, fmt.Errorf("locating the video: %w", err)
	}
	pictures, err := z.picturesAt(ctx, source, at)
	if err != nil {
		return first, err
	}
	if len(pictures) == 0 {
		return answer.Second(a.Query, first, answer.Opinion{}, seen.DurationS), nil
	}
	o, err := z.VisionModel.Opinion(ctx, a.Prompt, a.Query, pictures)
	if err != nil {
		return first, err
	}
	o.StepS = stepS
	result := answer.Second(a.Query, first, o, seen.DurationS)
	if result.Receipt != nil {
		receipt := *result.Receipt
		receipt.SecondOpinion = &answer.SecondOpinion{Model: z.VisionModel.Model(), Frames: len(pictures)}
		result.Receipt = &receipt
	}
	return result, nil
}

// moments are the instants, at most n, at which a question is looked at again, evenly
// spread over the samples that may show it, and the longest time between two of them in
// which it may be shown: where the detector saw none of a subject that it knows, nothing
// need be looked at.
func moments(q query.Query, seen sighting, n int) (at []float64, stepS float64) {
	all := inWindow(q, seen)
	candidates := withSubjects(q, seen, all)
	if len(candidates) == 0 {
		return nil, 0
	}
	stepS = seen.IntervalS
	last := 0
	for k := range min(n, len(candidates)) {
		i := 0
		if k > 0 {
			i = int(math.Round(float64(k) * float64(len(candidates)-1) / float64(min(n, len(candidates))-1)))
		}
		blind := 0.0
		for j := last; j < i; j++ {
			if candidates[j+1] == candidates[j]+1 {
				blind += all[candidates[j+1]].At - all[candidates[j]].At
			} else {
				blind += seen.IntervalS
			}
		}
		stepS, last = max(stepS, blind), i
		at = append(at, all[candidates[i]].At)
	}
	return at, stepS
}

// inWindow are the samples in the part of the video that a question is about.
func inWindow(q query.Query, seen sighting) []evidence.Frame {
	fromS, toS := 0.0, math.Inf(1)
	for _, c := range q.Conditions {
		if w, ok := c.Window(); ok {
			from, to := w.Within(seen.DurationS)
			fromS, toS = max(fromS, from), min(toS, to)
		}
	}
	var in []evidence.Frame
	for _, f := range seen.Frames {
		if f.At >= fromS && f.At <= toS {
			in = append(in, f)
		}
	}
	return in
}

// withSubjects are the places of the samples that show, however weakly, each subject that
// the model knows; all places when none does, or when one of several subjects is enough.
func withSubjects(q query.Query, seen sighting, all []evidence.Frame) []int {
	var wanted []map[int]bool
	for _, s := range q.Subjects {
		classes, ok := seen.rules.Vocabulary.Lookup(s.Term)
		if !ok {
			classes = []string{s.Term} // an open model takes any
		}
		terms := map[int]bool{}
		for i, term := range seen.Terms {
			for _, class := range classes {
				if class == term && i < len(seen.Known) && seen.Known[i] {
					terms[i] = true
				}
			}
		}
		if len(terms) > 0 {
			wanted = append(wanted, terms)
		}
	}
	if len(q.Subjects) > 1 && q.Operator == query.Any {
		wanted = nil
	}
	var places, every []int
	for i, f := range all {
		every = append(every, i)
		if showsAll(f.Load(false), wanted) {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return every
	}
	return places
}

func showsAll(f evidence.Frame, wanted []map[int]bool) bool {
	for _, terms := range wanted {
		found := false
		for _, d := range f.Detections {
			found = found || terms[d.Term]
		}
		if !found {
			return false
		}
	}
	return true
}

// picturesAt takes one picture at each instant; each is sought by itself, because what lies
// between may be hours. An instant without a picture is left out.
func (z *Analyzer) picturesAt(ctx context.Context, source string, at []float64) ([]language.Frame, error) {
	var pictures []language.Frame
	for _, atS := range at {
		near := frames.Span{From: max(0, atS-nearS), To: atS + nearS}
		for frame, err := range frames.Sample(ctx, z.FFmpeg, source, frames.Options{FPS: opinionFPS, LongSide: opinionSide, Within: []frames.Span{near}}) {
			if err != nil {
				return nil, fmt.Errorf("taking a picture at %.2f s: %w", atS, err)
			}
			pictures = append(pictures, language.Frame{AtS: frame.At, JPEG: frame.JPEG})
			break
		}
	}
	return pictures, nil
}
