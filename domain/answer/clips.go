package answer

import (
	"cmp"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// clips are the parts of the video that show a verdict.
func (e trial) clips(v verdict, things []*thing) []Clip {
	var clips []Clip
	for _, s := range v.shown {
		part := axis{e.Scene, e.cells[s.first : s.last+1], 0}
		c := Clip{Terms: map[string]float64{}, Confidence: round4(min(part.best(v.series[s.first:s.last+1], e.cal.SecondS), e.cal.CapYes))}
		c.StartS, c.EndS = e.times(s)
		for _, t := range things {
			best := e.cal.Floor
			for _, o := range t.objects[t.starts[s.first]:t.starts[s.last+1]] {
				best = max(best, float64(o.P))
			}
			c.Terms[t.Term] = max(c.Terms[t.Term], round4(min(best, e.cal.CapYes)))
			if t.vague() {
				c.Confidence = min(c.Confidence, marginal)
			}
		}
		clips = joinClip(clips, c, e.IntervalS)
	}
	return strongest(clips)
}

// joined are the clips of some spans, without what they show.
func (e trial) joined(spans []span) []Clip {
	var clips []Clip
	for _, s := range spans {
		start, end := e.times(s)
		clips = joinClip(clips, Clip{StartS: start, EndS: end}, e.IntervalS)
	}
	return clips
}

// joinClip appends a clip, or extends the last one when the gap between them is short.
func joinClip(clips []Clip, c Clip, intervalS float64) []Clip {
	if !(c.StartS < c.EndS) {
		return clips
	}
	n := len(clips)
	if n == 0 || c.StartS-clips[n-1].EndS >= intervalS {
		return append(clips, c)
	}
	last := &clips[n-1]
	last.EndS, last.Confidence = max(last.EndS, c.EndS), max(last.Confidence, c.Confidence)
	for term, p := range c.Terms {
		last.Terms[term] = max(last.Terms[term], p)
	}
	return clips
}

// strongest keeps the MaxClips most confident clips, in the order of time.
func strongest(clips []Clip) []Clip {
	if len(clips) <= MaxClips {
		return clips
	}
	slices.SortStableFunc(clips, func(a, b Clip) int { return cmp.Compare(b.Confidence, a.Confidence) })
	clips = clips[:MaxClips]
	slices.SortFunc(clips, func(a, b Clip) int { return cmp.Compare(a.StartS, b.StartS) })
	return clips
}

// showsClips reports whether a yes to q has clips (docs/contract.md#result-6). An absence has nothing to
// show unless its times are asked for.
func showsClips(q query.Query) bool {
	switch q.PromptIntent {
	case query.Presence, query.Action, query.Compound:
		return !q.Negated
	case query.Segment:
		return !q.Negated || q.Asked() != query.AskWhether
	default:
		return false
	}
}

// interval is a part of a video, in seconds.
type interval struct {
	from, to float64
	// whole is true when the question has no time condition.
	whole bool
}

// windowOf is the part of the video that all time conditions of q leave.
func windowOf(q query.Query, durationS float64) interval {
	s := interval{to: durationS, whole: true}
	for _, c := range q.Conditions {
		if w, ok := c.Window(); ok {
			from, to := w.Within(durationS)
			s = interval{from: max(s.from, from), to: min(s.to, to)}
		}
	}
	return s
}

// framesIn returns the frames in the interval.
func (s interval) framesIn(frames []evidence.Frame) []evidence.Frame {
	if s.whole {
		return frames
	}
	var kept []evidence.Frame
	for _, f := range frames {
		if f.At >= s.from && f.At <= s.to {
			kept = append(kept, f)
		}
	}
	return kept
}

// trim cuts clips to the interval. They reach half a sample beyond its edges.
func (s interval) trim(clips []Clip) []Clip {
	kept := []Clip{}
	for _, c := range clips {
		start, end := c.StartS, c.EndS
		if !s.whole {
			start, end = max(start, milli(s.from)), min(end, milli(s.to))
		}
		if end-start > 0 {
			c.StartS, c.EndS = start, end
			kept = append(kept, c)
		}
	}
	return kept
}
