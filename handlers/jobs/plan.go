package jobs

import (
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/gpu/frames"
	"vqa/handlers/survey"
)

// The steps at which a video is looked at, in seconds. Each is a multiple of the next, so
// that instants of one are instants of all.
const (
	coarseStepS = 2
	baseStepS   = 0.5
	fineStepS   = 0.125
)

// longS is the length from which on a video is looked at coarsely first.
const longS = 600

// seekS is how far apart two instants must be for ffmpeg to be started anew: a start and the
// decoding from the key picture on cost about as much as decoding that long.
const seekS = 5

// wholeStep is the step of the pass over all of a video.
func wholeStep(durationS *float64) float64 {
	if durationS != nil && *durationS > longS {
		return coarseStepS
	}
	return baseStepS
}

// suspects are the instants of the base grid around each sample of a coarse pass that shows
// something at the hint or above: what shows in none of two neighbouring samples is taken
// to be absent between them.
func suspects(seen []evidence.Frame, stepS float64, rules answer.Calibration, endS float64) []float64 {
	var at []float64
	for _, f := range onGrid(seen, stepS) {
		if !shows(f, hintOf(rules)) {
			continue
		}
		for t := max(0, f.At-stepS+baseStepS); t < min(f.At+stepS, endS); t += baseStepS {
			if n := len(at); n == 0 || t > at[n-1] {
				at = append(at, t)
			}
		}
	}
	return at
}

func shows(f evidence.Frame, score float64) bool {
	return slices.ContainsFunc(f.Load(false).Detections, func(d evidence.Detection) bool { return d.Score >= score })
}

// showing are the instants of the frames that show something at a score.
func showing(frames []evidence.Frame, score float64) []float64 {
	var at []float64
	for _, f := range frames {
		if shows(f, score) {
			at = append(at, f.At)
		}
	}
	return at
}

// perGap is how many fine instants lie between two base samples.
const perGap = baseStepS/fineStepS - 1

// between are the fine instants that tell the edges of clips of some terms. What they may cost is a
// quarter of the base samples and 24.
func between(ev evidence.Evidence, terms []string, rules answer.Calibration) []float64 {
	return inside(answer.Edges(ev, terms, rules, (len(ev.Frames)/4+24)/perGap))
}

// lively are the fine instants that tell what is over within moments. They may cost as much
// as the base samples, or 144: all of a video of 24 s.
func lively(ev evidence.Evidence, terms []string, rules answer.Calibration) []float64 {
	return inside(answer.Stirs(ev, terms, rules, max(len(ev.Frames), 144)/perGap))
}

// inside are the fine instants between samples.
func inside(edges []answer.Edge) []float64 {
	var at []float64
	for _, e := range edges {
		for t := e.AfterS + fineStepS; t < e.BeforeS; t += fineStepS {
			at = append(at, t)
		}
	}
	return at
}

// evidence is what a survey tells a question: what the looks for it alone would have told,
// so that it has one answer whatever was asked before.
func (p *pass) evidence(s survey.Survey, rules answer.Calibration) evidence.Evidence {
	if p.everything {
		return overview(s, rules)
	}
	ev := s.For(p.classes)
	if s.StepS > baseStepS {
		wanted := suspects(s.For(p.own).Frames, s.StepS, rules, s.DecodedS)
		for _, f := range onGrid(ev.Frames, s.StepS) {
			wanted = append(wanted, f.At)
		}
		ev.Frames = within(ev.Frames, wanted)
	}
	ev.Fine = within(ev.Fine, p.fine(s, ev, rules))
	return ev
}

// fine are the fine instants for a question with some evidence. The edges are, of a video
// that was looked at throughout, those of all terms, so that no later question needs others.
func (p *pass) fine(s survey.Survey, ev evidence.Evidence, rules answer.Calibration) []float64 {
	var at []float64
	if s.StepS == baseStepS {
		at = between(s.Evidence, s.Evidence.Terms, rules)
	} else {
		at = between(ev, p.own, rules)
	}
	if query.NeedsDenseSamples(p.query) {
		at = append(at, lively(ev, p.own, rules)...)
		slices.Sort(at)
		at = slices.Compact(at)
	}
	return at
}

// people are the instants at which the frames of a question show what it is about.
func (p *pass) people(s survey.Survey, frames []evidence.Frame, rules answer.Calibration) []float64 {
	own := s.For(p.own)
	shown := append(showing(own.Frames, rules.Keep), showing(own.Fine, rules.Keep)...)
	return instants(within(frames, shown))
}

// classesFor are the classes of the question's own terms, and all that it is answered with.
func classesFor(q query.Query, v query.Vocabulary) (own, all []string) {
	for _, term := range q.SearchTerms {
		classes, ok := v.Lookup(term)
		if !ok {
			classes = []string{term}
		}
		own = append(own, classes...)
	}
	return own, v.Classes(q)
}

// overview is what the pass over the whole video told of all terms.
func overview(s survey.Survey, rules answer.Calibration) evidence.Evidence {
	ev := s.Evidence
	if s.StepS > baseStepS {
		ev.Frames, ev.Fine, ev.IntervalS = onGrid(ev.Frames, s.StepS), nil, s.StepS
		return ev
	}
	ev.Fine = within(ev.Fine, between(ev, ev.Terms, rules))
	return ev
}

// hintOf is the score from which on a closer look pays. In eight real clips, with samples
// 2 s apart, two thirds of Faint missed 6 of 661 samples over Faint and none of 396 over
// Threshold; of a class at random, a tenth of the video was looked at closely.
func hintOf(rules answer.Calibration) float64 { return rules.Faint * 2 / 3 }

// split tells instants on a grid from others.
func split(at []float64, stepS float64) (on, off []float64) {
	for _, t := range at {
		if math.Mod(t, stepS) == 0 {
			on = append(on, t)
		} else {
			off = append(off, t)
		}
	}
	return on, off
}

func instants(frames []evidence.Frame) []float64 {
	at := make([]float64, len(frames))
	for i, f := range frames {
		at[i] = f.At
	}
	return at
}

// onGrid are the frames at the steps of a grid.
func onGrid(frames []evidence.Frame, stepS float64) []evidence.Frame {
	var on []evidence.Frame
	for _, f := range frames {
		if math.Mod(f.At, stepS) == 0 {
			on = append(on, f)
		}
	}
	return on
}

// within are the frames at some instants, which need no order.
func within(frames []evidence.Frame, at []float64) []evidence.Frame {
	slices.Sort(at)
	var kept []evidence.Frame
	for _, f := range frames {
		if _, wanted := slices.BinarySearch(at, f.At); wanted {
			kept = append(kept, f)
		}
	}
	return kept
}

// coarse looks may show a picture that is a little older, see package frames.
func (l look) coarse() bool { return l.stepS > baseStepS }

// samples are the runs of ffmpeg that yield the instants of a look.
func (l look) samples() []frames.Options {
	if l.at == nil {
		all := frames.Options{FPS: 1 / l.stepS, Coarse: l.coarse()}
		if l.fromS > 0 {
			all.Within = []frames.Span{{From: l.fromS, To: frames.End}}
		}
		return []frames.Options{all}
	}
	var runs []frames.Options
	last := -2.0 * seekS
	for _, t := range l.at {
		if n := len(runs); t-last > seekS || len(runs[n-1].Within) == frames.MaxSpans {
			runs = append(runs, frames.Options{FPS: 1 / l.stepS, Coarse: l.coarse()})
		}
		run := &runs[len(runs)-1]
		if n := len(run.Within); n > 0 && t-last <= l.stepS {
			run.Within[n-1].To = t
		} else {
			run.Within = append(run.Within, frames.Span{From: t, To: t})
		}
		last = t
	}
	return runs
}
