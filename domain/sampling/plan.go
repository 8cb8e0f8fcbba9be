package sampling

import (
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// The steps between two instants, in seconds. Each is a multiple of the next, so that the
// instants of one grid are instants of all finer grids.
const (
	CoarseStepS = 2
	BaseStepS   = 0.5
	FineStepS   = 0.125
)

// longS is the length above which a video is scanned at CoarseStepS first, in seconds.
const longS = 600

// perGap is the number of fine instants between two samples of the base grid.
const perGap = BaseStepS/FineStepS - 1

// Survey is the known part of a video.
type Survey struct {
	// StepS is the step of the scan over the whole video, in seconds.
	StepS float64
	// DecodedS is the length that was decoded, in seconds.
	DecodedS float64
	// Evidence is that of all terms.
	Evidence evidence.Evidence
	// For returns the evidence for some of the terms.
	For func(terms []string) evidence.Evidence
}

// Plan is the sampling plan of one question.
type Plan struct {
	Query query.Query
	// Classes are what the model must look for to answer the query.
	Classes []string
	// Own are those of Classes that the question is about. The others tell similar things
	// apart.
	Own []string
	// Everything plans for all terms of the survey: the samples of the scan and, after a scan
	// at BaseStepS, the edges of all terms. There are no close-ups.
	Everything bool
}

// For returns the plan of a question for a model with a vocabulary.
func For(q query.Query, v vocabulary.Vocabulary) Plan {
	p := Plan{Query: q, Classes: v.Classes(q.SearchTerms...)}
	for _, term := range q.SearchTerms {
		classes, ok := v.Lookup(term)
		if !ok {
			classes = []string{term}
		}
		p.Own = append(p.Own, classes...)
	}
	return p
}

// ScanStep is the step of the scan over a whole video, in seconds. The duration may be nil.
func ScanStep(durationS *float64) float64 {
	if durationS != nil && *durationS > longS {
		return CoarseStepS
	}
	return BaseStepS
}

// CloseUps returns the instants of the base grid around each sample of a coarse scan that
// shows a class of the question at HintScore. A class that none of two neighboring samples
// shows is taken to be absent between them.
func (p Plan) CloseUps(s Survey, cal answer.Calibration) []float64 {
	var at []float64
	for _, f := range OnGrid(upright(s.For(p.Own)).Frames, s.StepS) {
		if !shows(f, HintScore(cal)) {
			continue
		}
		for t := max(0, f.At-s.StepS+BaseStepS); t < min(f.At+s.StepS, s.DecodedS); t += BaseStepS {
			if n := len(at); n == 0 || t > at[n-1] {
				at = append(at, t)
			}
		}
	}
	return at
}

// HintScore is the score from which a coarse sample deserves close-ups: two thirds of the lowest score with
// even odds. On eight real clips with samples 2 s apart, it missed 6 of 661 samples above even odds, and a
// tenth of the video was examined closely for a class at random.
func HintScore(cal answer.Calibration) float64 {
	return 2. / 3 * min(cal.Even("person"), cal.Even("car"), cal.Even("dog"), cal.Even("chair"), cal.Even("cup"))
}

// Evidence is the evidence for the question. It holds only the frames of its own plan, not
// those that other questions added to the survey.
func (p Plan) Evidence(s Survey, cal answer.Calibration) evidence.Evidence {
	if p.Everything {
		return overview(s, cal)
	}
	ev := p.scanned(s, cal)
	again, doubtful := p.again(ev, cal)
	ev.Fine = within(ev.Fine, p.Fine(s, ev, cal))
	if len(again) > 0 {
		all := s.For(p.Classes).Frames
		ev.Frames = hide(within(all, instants(ev.Frames)), again, doubtful)
	}
	return ev
}

// scanned is the evidence of the question's samples, with all fine frames of the survey.
func (p Plan) scanned(s Survey, cal answer.Calibration) evidence.Evidence {
	ev := upright(s.For(p.Classes))
	if s.StepS > BaseStepS {
		wanted := append(p.CloseUps(s, cal), instants(OnGrid(ev.Frames, s.StepS))...)
		ev.Frames = within(ev.Frames, wanted)
	}
	return ev
}

func instants(frames []evidence.Frame) []float64 {
	at := make([]float64, len(frames))
	for i, f := range frames {
		at[i] = f.At
	}
	return at
}

// Fine returns the fine instants of a question with some evidence. After a scan at
// BaseStepS they cover the edges of all terms, so that later questions need no others.
func (p Plan) Fine(s Survey, ev evidence.Evidence, cal answer.Calibration) []float64 {
	var at []float64
	if s.StepS == BaseStepS {
		at = edges(upright(s.Evidence), s.Evidence.Terms, cal)
	} else {
		at = edges(ev, p.Own, cal)
	}
	if answer.NeedsDenseSamples(p.Query) {
		at = append(at, motion(ev, p.Own, cal)...)
		slices.Sort(at)
		at = slices.Compact(at)
	}
	return at
}

// Subjects returns the instants at which some frames show a class of the question.
func (p Plan) Subjects(s Survey, frames []evidence.Frame, cal answer.Calibration) []float64 {
	own := upright(s.For(p.Own))
	shown := append(showing(own.Frames, cal.Keep), showing(own.Fine, cal.Keep)...)
	return instants(within(frames, shown))
}

// overview is the evidence of the scan for all terms.
func overview(s Survey, cal answer.Calibration) evidence.Evidence {
	ev := upright(s.Evidence)
	if s.StepS > BaseStepS {
		ev.Frames, ev.Fine, ev.IntervalS = OnGrid(ev.Frames, s.StepS), nil, s.StepS
		return ev
	}
	ev.Fine = within(ev.Fine, edges(ev, ev.Terms, cal))
	return ev
}

// edges returns the fine instants at the edges of the clips of some terms: at most a quarter
// of the samples plus 24.
func edges(ev evidence.Evidence, terms []string, cal answer.Calibration) []float64 {
	return inside(answer.EdgeGaps(ev, terms, cal, (len(ev.Frames)/4+24)/perGap))
}

// motion returns the fine instants that may show a jump or a fall: at most as many as the
// samples, or 144. That is all of a video of 24 s.
func motion(ev evidence.Evidence, terms []string, cal answer.Calibration) []float64 {
	return inside(answer.MotionGaps(ev, terms, cal, max(len(ev.Frames), 144)/perGap))
}

// inside returns the fine instants inside some gaps between samples.
func inside(gaps []answer.Gap) []float64 {
	var at []float64
	for _, g := range gaps {
		for t := g.AfterS + FineStepS; t < g.BeforeS; t += FineStepS {
			at = append(at, t)
		}
	}
	return at
}

func shows(f evidence.Frame, score float64) bool {
	return slices.ContainsFunc(f.Load(false).Detections, func(d evidence.Detection) bool { return d.Score >= score })
}

// showing returns the instants of the frames with a detection of at least a score.
func showing(frames []evidence.Frame, score float64) []float64 {
	var at []float64
	for _, f := range frames {
		if shows(f, score) {
			at = append(at, f.At)
		}
	}
	return at
}

// Split separates the instants on a grid from the others.
func Split(at []float64, stepS float64) (on, off []float64) {
	for _, t := range at {
		if math.Mod(t, stepS) == 0 {
			on = append(on, t)
		} else {
			off = append(off, t)
		}
	}
	return on, off
}

// OnGrid returns the frames at the instants of a grid.
func OnGrid(frames []evidence.Frame, stepS float64) []evidence.Frame {
	var on []evidence.Frame
	for _, f := range frames {
		if math.Mod(f.At, stepS) == 0 {
			on = append(on, f)
		}
	}
	return on
}

// within returns the frames at some instants, which it sorts.
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
