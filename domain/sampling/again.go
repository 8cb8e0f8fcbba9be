package sampling

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// The second look: a thing that may be there is looked for in turned views of the frames. Measured on 98
// doubtful pairs of a class and a clip, a box of againScore that no other class outscores was found in 8 of
// 15 where the class is present, and in none of 83 where it is absent (docs/performance.md).
const (
	// doubtFrom and doubtTo bound the probability of a doubtful thing.
	doubtFrom, doubtTo = .05, .6
	againScore         = .40
	// mostAgain bounds the frames that are examined again for one question.
	mostAgain = 8
	// samePlace is the intersection over union from which two boxes are at one place.
	samePlace = .45
)

// Again merges a frame's upright detections with those of its turned views. It keeps only turned boxes that
// are strong enough and that nothing outscores.
func Again(upright, turned []evidence.Detection) []evidence.Detection {
	out := slices.DeleteFunc(slices.Clone(upright), func(d evidence.Detection) bool { return d.Turned })
	all := slices.Concat(out, turned)
	for _, d := range turned {
		at := func(o evidence.Detection) bool { return evidence.IoU(o.Box, d.Box) >= samePlace }
		outscored := slices.ContainsFunc(all, func(o evidence.Detection) bool { return o.Term != d.Term && o.Score > d.Score && at(o) })
		known := slices.ContainsFunc(out, func(o evidence.Detection) bool { return o.Term == d.Term && o.Score >= d.Score && at(o) })
		if d.Score >= againScore && !outscored && !known {
			d.Turned = true
			out = append(out, d)
		}
	}
	return out
}

// Again returns the instants at which the question needs a second look: the samples that show its doubtful
// things best. People are not looked for again.
func (p Plan) Again(s Survey, cal answer.Calibration) []float64 {
	at, _ := p.again(p.scanned(s, cal), cal)
	return at
}

// again also returns which terms of the evidence are doubtful.
func (p Plan) again(ev evidence.Evidence, cal answer.Calibration) (at []float64, doubtful []bool) {
	ev.Fine = nil // other questions may have asked for them
	doubtful = make([]bool, len(ev.Terms))
	best := map[float64]float64{} // the probability of the best doubtful object at an instant
	for _, term := range p.Query.SearchTerms {
		chance, mine := answer.Presence(term, ev, cal)
		if chance < doubtFrom || chance >= doubtTo {
			continue
		}
		for i, is := range mine {
			if is && answer.KindOf(ev.Terms[i]) != answer.KindPerson {
				doubtful[i] = true
			}
		}
	}
	if !slices.Contains(doubtful, true) {
		return nil, doubtful
	}
	for _, f := range ev.Frames {
		for _, d := range f.Load(false).Detections {
			if doubtful[d.Term] {
				best[f.At] = max(best[f.At], cal.Probability(ev.Terms[d.Term], d.Score))
			}
		}
	}
	for t := range best {
		at = append(at, t)
	}
	slices.SortFunc(at, func(a, b float64) int { return cmp.Or(cmp.Compare(best[b], best[a]), cmp.Compare(a, b)) })
	at = at[:min(len(at), mostAgain)]
	slices.Sort(at)
	return at, doubtful
}

// hiding is a frame without what only its turned views show of some terms.
type hiding struct {
	frame evidence.Frame
	// shown are the terms that turned views may show; nil hides all.
	shown []bool
}

// Load implements evidence.Source.
func (h hiding) Load(details bool) ([]evidence.Detection, []byte) {
	f := h.frame.Load(details)
	return slices.DeleteFunc(slices.Clone(f.Detections), func(d evidence.Detection) bool {
		return d.Turned && (d.Term >= len(h.shown) || !h.shown[d.Term])
	}), f.Shades
}

// upright hides what only turned views show, so that an answer does not depend on the questions before.
func upright(ev evidence.Evidence) evidence.Evidence {
	ev.Frames, ev.Fine = hide(ev.Frames, nil, nil), hide(ev.Fine, nil, nil)
	return ev
}

// hide hides the turned views of all frames, but at some instants those of other terms than shown.
func hide(frames []evidence.Frame, at []float64, shown []bool) []evidence.Frame {
	out := make([]evidence.Frame, len(frames))
	for i, f := range frames {
		h := hiding{frame: f}
		if _, again := slices.BinarySearch(at, f.At); again {
			h.shown = shown
		}
		out[i] = evidence.Frame{At: f.At, Source: h}
	}
	return out
}
