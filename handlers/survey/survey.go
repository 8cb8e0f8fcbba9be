package survey

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// Survey is what a model saw in a video at the instants that were looked at.
type Survey struct {
	// Engine is what looked.
	Engine answer.Engine
	// StepS is the time between two instants of the pass over the whole video, in seconds; 0
	// before that pass began.
	StepS float64
	// Whole says that this pass came to the end of the video. Before, it is what the survey
	// holds, and nothing else is.
	Whole bool
	// DecodedS is the length that was decoded, in seconds; 0 before Whole.
	DecodedS float64
	// Looked are the instants that were looked at, Posed those at which joints were asked
	// for; in seconds and in order. The video may have no picture there.
	Looked, Posed []float64
	// Evidence is that of all terms that were asked for. Its frames are on the reel.
	Evidence evidence.Evidence

	reel *reel
}

// Close gives back the reel; what the survey told of cannot be looked at any more.
func (s Survey) Close() error {
	if s.reel == nil {
		return nil
	}
	return s.reel.file.Close()
}

// Err tells that something of the survey could not be read: what was concluded from it, or
// from evidence that it gave, is void.
func (s Survey) Err() error {
	if s.reel == nil {
		return nil
	}
	return s.reel.err
}

// Keep puts frames on the reel, so that they take no memory until they are looked at. An
// error says that there is no room.
func (s *Survey) Keep(seen []evidence.Frame) ([]evidence.Frame, error) {
	if s.reel == nil {
		var err error
		if s.reel, err = newReel(); err != nil {
			return nil, err
		}
	}
	kept := make([]evidence.Frame, len(seen))
	for i, f := range seen {
		var err error
		if kept[i], err = s.reel.keep(f); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// Look is what was seen at some instants.
type Look struct {
	// At are the instants, in order; those of Frames at least.
	At []float64
	// Frames are the pictures that there were.
	Frames []evidence.Frame
	// Pose says that joints were asked for.
	Pose bool
	// Fine says that the frames are for the edges of clips.
	Fine bool
}

// Covers reports whether the survey tells what an engine sees of some terms.
func (s Survey) Covers(engine answer.Engine, terms []string) bool {
	return s.Engine == engine && !slices.ContainsFunc(terms, func(term string) bool { return !slices.Contains(s.Evidence.Terms, term) })
}

// Missing are the instants that were not looked at, or not for joints when they are wanted.
func (s Survey) Missing(at []float64, pose bool) []float64 {
	known := s.Looked
	if pose {
		known = s.Posed
	}
	var missing []float64
	for _, t := range at {
		if _, found := slices.BinarySearch(known, t); !found {
			missing = append(missing, t)
		}
	}
	return missing
}

// Add takes up what was seen; it replaces what was seen at the same instants. An error says
// that there is no room for it.
func (s *Survey) Add(l Look) error {
	seen, err := s.Keep(l.Frames)
	if err != nil {
		return err
	}
	at := slices.Clone(l.At)
	for _, f := range seen {
		at = append(at, f.At)
	}
	s.Looked = union(s.Looked, at)
	if l.Pose {
		s.Posed = union(s.Posed, at)
	}
	if l.Fine {
		s.Evidence.Fine = merged(s.Evidence.Fine, seen)
	} else {
		s.Evidence.Frames = merged(s.Evidence.Frames, seen)
	}
	return nil
}

func union(a, b []float64) []float64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// merged are the frames of both in order, the new one where both have one.
func merged(old, seen []evidence.Frame) []evidence.Frame {
	all := slices.Concat(seen, old)
	slices.SortStableFunc(all, func(a, b evidence.Frame) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(all, func(a, b evidence.Frame) bool { return a.At == b.At })
}

// maxTerms bounds what a survey of an open model gathers.
const maxTerms = 256

// With are some terms together with those that the survey holds.
func (s Survey) With(terms []string) []string {
	all := slices.Clone(terms)
	for _, term := range s.Evidence.Terms {
		if len(all) < maxTerms && !slices.Contains(all, term) {
			all = append(all, term)
		}
	}
	return all
}

// For returns the evidence for some of the survey's terms, as if only they had been asked
// for.
func (s Survey) For(terms []string) evidence.Evidence {
	ev := s.Evidence
	ev.Terms, ev.Known = terms, make([]bool, len(terms))
	places := slices.Repeat([]int{-1}, len(s.Evidence.Terms))
	for i, term := range terms {
		at := slices.Index(s.Evidence.Terms, term)
		if at < 0 || at >= len(s.Evidence.Known) {
			continue
		}
		places[at], ev.Known[i] = i, s.Evidence.Known[at]
	}
	ev.Frames, ev.Fine = only(places, s.Evidence.Frames), only(places, s.Evidence.Fine)
	return ev
}

// only keeps the detections of some terms, and gives them their new places.
func only(places []int, frames []evidence.Frame) []evidence.Frame {
	kept := make([]evidence.Frame, len(frames))
	for i, f := range frames {
		kept[i] = evidence.Frame{At: f.At, Source: &glimpse{f.Source, places}}
	}
	return kept
}
