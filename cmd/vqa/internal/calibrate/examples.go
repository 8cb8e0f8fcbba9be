package calibrate

import (
	"cmp"
	"math"
	"slices"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/sampling"
)

const (
	// edgeS is the distance from the edge of a labeled interval within which frames are left out, in
	// seconds. Labels are good to about 0.25 s.
	edgeS = .3
	// An example keeps the perExample seconds with the best scores, and perFrame objects in each frame.
	// Weaker ones never decide.
	perFrame, perExample = 2, 3
)

// example is a class in a clip, seen at one phase of the sampling grid. A label applies
// to its best second.
type example struct {
	clip, class string
	kind        answer.Kind
	present     bool
	unasked     bool
	// weight makes the examples of a pair count as one, and present and absent pairs count alike.
	weight float64
	// seconds are runs of frames, one second long. Each frame holds its best objects.
	seconds [][][]object
}

// object is a detection as the parameters read it.
type object struct {
	logScore, rivals float64
	// share is its part of the place among classes of its kind that exclude each other.
	share float64
}

// examples lists what the clips show of the pairs.
func examples(pairs []Pair, seen map[string]evaluate.Seen, p answer.Parameters) []example {
	var out []example
	for _, pair := range pairs {
		s, ok := seen[pair.Clip]
		term := slices.Index(s.Evidence.Terms, pair.Class)
		if !ok || term < 0 {
			continue
		}
		phases := int(sampling.BaseStepS / sampling.FineStepS)
		if pair.Unasked {
			phases = 1 // there are many
		}
		for phase := range phases {
			var times []float64
			var frames [][]object
			for i := phase; i < len(s.Evidence.Frames); i += int(sampling.BaseStepS / sampling.FineStepS) {
				f := s.Evidence.Frames[i]
				times, frames = append(times, f.At), append(frames, objects(f, s.Evidence.Terms, term, p))
			}
			add := func(present bool, wanted func(at float64) bool) {
				e := example{clip: pair.Clip, class: pair.Class, kind: answer.KindOf(pair.Class), present: present, unasked: pair.Unasked}
				if e.seconds = bestSeconds(times, frames, wanted, p.SecondS); present || !e.unasked || e.best() > p.Keep {
					out = append(out, e)
				}
			}
			if pair.Absent {
				add(false, func(float64) bool { return true })
				continue
			}
			add(true, func(at float64) bool { return pair.Shown == nil || depth(pair.Shown, at, s.DecodedS) > edgeS })
		}
	}
	return out
}

// depth returns the seconds from an instant to the nearer edge of the interval that holds it, and a
// negative number outside all intervals. The clip's own start and end do not count as edges, because the
// object may have been there before.
func depth(intervals [][2]float64, at, durationS float64) float64 {
	deepest := math.Inf(-1)
	for _, i := range intervals {
		from, to := at-i[0], i[1]-at
		if i[0] <= edgeS {
			from = math.Inf(1)
		}
		if i[1] >= durationS-edgeS {
			to = math.Inf(1)
		}
		deepest = max(deepest, min(from, to))
	}
	return deepest
}

// objects are the best detections of a class in a frame.
func objects(f evidence.Frame, terms []string, term int, p answer.Parameters) []object {
	var out []object
	for _, d := range f.Detections {
		if d.Term != term || d.Score < p.Keep {
			continue
		}
		rivals, excluded := 0.0, 0.0
		for _, e := range f.Detections {
			if e.Term == term {
				continue
			}
			overlap := evidence.IoU(e.Box, d.Box)
			if overlap >= p.RivalOverlap {
				rivals += e.Score / d.Score
			}
			if overlap >= .5 && answer.Exclusive(terms[term], terms[e.Term]) {
				excluded += math.Pow(e.Score/d.Score, p.Exclusion)
			}
		}
		share := 1.0
		if p.Exclusion > 0 {
			share = 1 / (1 + excluded)
		}
		out = append(out, object{logScore: math.Log(d.Score), rivals: min(rivals, 3), share: share})
	}
	slices.SortFunc(out, func(a, b object) int { return cmp.Compare(b.logScore, a.logScore) })
	return out[:min(len(out), perFrame)]
}

// bestSeconds are the runs of wanted frames, a second long, with the best scores.
func bestSeconds(times []float64, frames [][]object, wanted func(at float64) bool, secondS float64) [][][]object {
	n := max(1, int(math.Round(secondS/sampling.BaseStepS)))
	if len(frames) < n {
		n = len(frames)
	}
	type run struct {
		frames [][]object
		score  float64
	}
	var runs []run
	for i := 0; i+n <= len(frames); i++ {
		r := run{frames: frames[i : i+n]}
		ok := true
		for k, f := range r.frames {
			ok = ok && wanted(times[i+k])
			if len(f) > 0 {
				r.score += math.Exp(f[0].logScore)
			}
		}
		if ok {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(b.score, a.score) })
	var best [][][]object
	for _, r := range runs[:min(len(runs), perExample)] {
		best = append(best, r.frames)
	}
	return best
}
