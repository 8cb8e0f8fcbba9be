package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/query"
)

const (
	// sameTrack is the least intersection over union of two boxes of one object in
	// neighbouring samples.
	sameTrack = .1
	// stride is how far an object may go between two samples whose boxes do not touch,
	// in longer sides of its box.
	stride = 1.5
	// growth is by which factor the area of its box may change meanwhile.
	growth = 2.5
	// trackGap is how many intervals may lie between two sights of a track: one sample
	// may miss the object.
	trackGap = 2.1
	// maxSights bounds what is followed in one frame: the best of them.
	maxSights = 100
)

// Sight is an object in one frame.
type Sight struct {
	// At is the time of the frame in seconds from the start of the video.
	At float64
	Detection
	// also are the other classes that the object was read as, worse.
	also []int
}

// readAs reports whether the object was read as a class.
func (s Sight) readAs(term int) bool { return s.Term == term || slices.Contains(s.also, term) }

// Track is one object through the samples of a video.
type Track struct {
	// Sights are at least one, ordered by At, at most one a frame; their boxes lie
	// within the frame.
	Sights []Sight
	// Trusted: two neighbouring sights pass the threshold of the calibration or one
	// passes its peak, as for the runs of an answer; in a video of one frame, the
	// sight passes the threshold.
	Trusted bool
}

// Tracks joins the detections of some classes into objects, in the order of their first
// sights. Detections of different classes at one place are one object, of the class
// that scores best there. What scores less than Keep is not followed.
func Tracks(ev Evidence, cal Calibration, classes []string) []Track {
	frames := slices.DeleteFunc(slices.Clone(ev.Frames), func(f Frame) bool {
		return !(f.At >= 0) || math.IsInf(f.At, 0)
	})
	slices.SortStableFunc(frames, func(a, b Frame) int { return cmp.Compare(a.At, b.At) })
	frames = slices.CompactFunc(frames, func(a, b Frame) bool { return a.At == b.At })
	mine := make([]bool, len(ev.Terms))
	for i, term := range ev.Terms {
		mine[i] = slices.Contains(classes, term)
	}
	var all, live []*Track
	for _, f := range frames {
		live = slices.DeleteFunc(live, func(t *Track) bool { return !(f.At-t.last().At <= trackGap*ev.IntervalS) })
		sights := sightsIn(f, mine, cal)
		for i, owner := range owners(live, sights) {
			if owner == nil {
				owner = &Track{}
				all, live = append(all, owner), append(live, owner)
			}
			owner.Sights = append(owner.Sights, sights[i])
		}
	}
	out := make([]Track, len(all))
	for i, t := range all {
		t.Trusted = t.trusted(ev.IntervalS, cal) || len(frames) == 1 && t.Sights[0].Score >= cal.Threshold
		out[i] = *t
	}
	return out
}

// sightsIn are the objects of a frame, best first, whatever the order of its detections.
func sightsIn(f Frame, mine []bool, cal Calibration) []Sight {
	var all []Sight
	for _, d := range f.Detections {
		if d.Term >= 0 && d.Term < len(mine) && mine[d.Term] && d.Score > 0 && d.Score >= cal.Keep {
			d.Score, d.Box = min(d.Score, 1), d.Box.inFrame()
			all = append(all, Sight{At: f.At, Detection: d})
		}
	}
	slices.SortStableFunc(all, func(a, b Sight) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Term, b.Term),
			cmp.Compare(a.Box.X1, b.Box.X1), cmp.Compare(a.Box.Y1, b.Box.Y1),
			cmp.Compare(a.Box.X2, b.Box.X2), cmp.Compare(a.Box.Y2, b.Box.Y2))
	})
	var kept []Sight
	for _, s := range all {
		again := slices.IndexFunc(kept, func(k Sight) bool { return k.Term != s.Term && iou(k.Box, s.Box) >= cal.Overlap })
		switch {
		case again >= 0:
			kept[again].also = append(kept[again].also, s.Term)
		case len(kept) < maxSights:
			kept = append(kept, s)
		}
	}
	return kept
}

// inFrame cuts what lies outside the frame off a box.
func (b Box) inFrame() Box {
	in := func(x float64) float64 {
		if math.IsNaN(x) {
			return 0
		}
		return min(max(x, 0), 1)
	}
	return Box{X1: in(b.X1), Y1: in(b.Y1), X2: in(b.X2), Y2: in(b.Y2)}
}

// owners finds the track that each sight goes on, the most alike first, or nil.
func owners(live []*Track, sights []Sight) []*Track {
	type pair struct {
		track, sight int
		likeness     float64
	}
	var pairs []pair
	for t := range live {
		for s := range sights {
			if l := likeness(live[t].last(), sights[s]); l > 0 {
				pairs = append(pairs, pair{t, s, l})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.likeness, a.likeness) })
	found, taken := make([]*Track, len(sights)), make([]bool, len(live))
	for _, p := range pairs {
		if found[p.sight] == nil && !taken[p.track] {
			found[p.sight], taken[p.track] = live[p.track], true
		}
	}
	return found
}

// likeness is that of two sights of one object: the overlap of their boxes or, below any
// overlap, how near two boxes of about one size are. 0 is no likeness, as that of two of
// which neither was ever read as the other.
func likeness(a, b Sight) float64 {
	if !a.readAs(b.Term) && !b.readAs(a.Term) {
		return 0
	}
	if o := iou(a.Box, b.Box); o >= sameTrack {
		return o
	}
	ratio := area(a.Box) / area(b.Box)
	size := max(a.Box.X2-a.Box.X1, a.Box.Y2-a.Box.Y1, b.Box.X2-b.Box.X1, b.Box.Y2-b.Box.Y1)
	way := math.Hypot(a.Box.X1+a.Box.X2-b.Box.X1-b.Box.X2, a.Box.Y1+a.Box.Y2-b.Box.Y1-b.Box.Y2) / 2 / size
	if !(way < stride) || !(ratio < growth) || !(ratio > 1/growth) {
		return 0
	}
	return sameTrack * (1 - way/stride)
}

func (t *Track) last() Sight { return t.Sights[len(t.Sights)-1] }

func (t *Track) trusted(intervalS float64, cal Calibration) bool {
	for i, s := range t.Sights {
		if s.Score >= cal.Peak {
			return true
		}
		if i > 0 && s.Score >= cal.Threshold && t.Sights[i-1].Score >= cal.Threshold &&
			neighbours(t.Sights[i-1].At, s.At, intervalS) {
			return true
		}
	}
	return false
}

// Term is the class that the object was seen as, by the sum of its scores.
func (t Track) Term() int {
	votes := map[int]float64{}
	for _, s := range t.Sights {
		votes[s.Term] += s.Score
	}
	best := t.Sights[0].Term
	for term, vote := range votes {
		if vote > votes[best] || vote == votes[best] && term < best {
			best = term
		}
	}
	return best
}

// Posture is how the body in the box is held, of standing, sitting and lying, and its
// probability; ok is false when the joints do not tell.
func (s Sight) Posture() (p query.Posture, probability float64, ok bool) {
	b := body{box: s.Box, joints: s.Keypoints}
	if len(s.Keypoints) != joints || !(b.height() > 0) {
		return "", 0, false
	}
	told := b.stance()
	switch best := max(told.stands, told.sits, told.lies); best {
	case told.stands:
		return query.Standing, best, told.upright
	case told.sits:
		return query.Sitting, best, told.upright
	default:
		return query.Lying, best, told.upright
	}
}

// Overlap is intersection over union, 0..1; 0 for boxes without an area.
func Overlap(a, b Box) float64 { return iou(a, b) }
