package sampling

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// ForOpinion returns at most n instants of the frames for a vision model. They are evenly
// spread over the samples that may show the subjects of a question. stepS is the longest
// time, in seconds, between two of these instants in which a subject may be visible. A time
// without any detection of a known subject does not count.
func ForOpinion(q query.Query, ev evidence.Evidence, v vocabulary.Vocabulary, n int) (at []float64, stepS float64) {
	all := inWindow(q, ev)
	candidates := withSubjects(q, ev, v, all)
	if len(candidates) == 0 {
		return nil, 0
	}
	stepS = ev.IntervalS
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
				blind += ev.IntervalS
			}
		}
		stepS, last = max(stepS, blind), i
		at = append(at, all[candidates[i]].At)
	}
	return at, stepS
}

// inWindow returns the samples in the part of the video that a question is about.
func inWindow(q query.Query, ev evidence.Evidence) []evidence.Frame {
	fromS, toS := 0.0, math.Inf(1)
	for _, c := range q.Conditions {
		if w, ok := c.Window(); ok {
			from, to := w.Within(ev.DurationS)
			fromS, toS = max(fromS, from), min(toS, to)
		}
	}
	var in []evidence.Frame
	for _, f := range ev.Frames {
		if f.At >= fromS && f.At <= toS {
			in = append(in, f)
		}
	}
	return in
}

// withSubjects returns the indices of the samples with a detection, at any score, of each
// subject that the model knows. It returns all indices when no sample has them, or when one
// of several subjects is enough.
func withSubjects(q query.Query, ev evidence.Evidence, v vocabulary.Vocabulary, all []evidence.Frame) []int {
	var wanted []map[int]bool
	for _, s := range q.Subjects {
		classes, ok := v.Lookup(s.Term)
		if !ok {
			classes = []string{s.Term} // an open model takes any term
		}
		terms := map[int]bool{}
		for i, term := range ev.Terms {
			for _, class := range classes {
				if class == term && i < len(ev.Known) && ev.Known[i] {
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
	var indices, every []int
	for i, f := range all {
		every = append(every, i)
		if showsAll(f.Load(false), wanted) {
			indices = append(indices, i)
		}
	}
	if len(indices) == 0 {
		return every
	}
	return indices
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
