package survey

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// Survey holds everything that a model has detected in a video so far.
type Survey struct {
	// Engine made the detections.
	Engine answer.Engine
	// Vocabulary lists the classes that the engine knows; none when it takes any term.
	Vocabulary []string
	// StepS is the time between two instants of the scan over the whole video, in seconds. It
	// is 0 before that scan starts.
	StepS float64
	// Whole says that this scan has reached the end of the video. Until then the survey holds
	// nothing but the start of this scan.
	Whole bool
	// DecodedS is the decoded length of the video, in seconds; 0 before Whole.
	DecodedS float64
	// Examined are the examined instants, Posed those examined with keypoints, Turned those examined in
	// turned views; in seconds and in order. The video may have no frame at such an instant.
	Examined, Posed, Turned []float64
	// Evidence holds the detections of all terms. Its frames are in the spool.
	Evidence evidence.Evidence

	spool *spool
}

// Close removes the spool. The frames of the survey cannot be loaded afterwards.
func (s Survey) Close() error {
	if s.spool == nil {
		return nil
	}
	return s.spool.file.Close()
}

// Err returns the first failure to load a frame. After a failure, evidence from this survey is
// incomplete, and so is every conclusion from it.
func (s Survey) Err() error {
	if s.spool == nil {
		return nil
	}
	return s.spool.err
}

// Spool moves frames to the spool, so that they take no memory. It returns an error when the
// spool or the disk is full.
func (s *Survey) Spool(frames []evidence.Frame) ([]evidence.Frame, error) {
	if s.spool == nil {
		var err error
		if s.spool, err = newSpool(); err != nil {
			return nil, err
		}
	}
	spooled := make([]evidence.Frame, len(frames))
	for i, f := range frames {
		var err error
		if spooled[i], err = s.spool.add(f); err != nil {
			return nil, err
		}
	}
	return spooled, nil
}

// Scan is the result of examining some instants.
type Scan struct {
	// At are the instants, in order. The instants of Frames may be left out.
	At []float64
	// Frames are the frames that the video has at these instants.
	Frames []evidence.Frame
	// Pose says that keypoints were asked for.
	Pose bool
	// Turned says that turned views were examined.
	Turned bool
	// Fine says that the frames serve to place the edges of clips.
	Fine bool
}

// Covers reports whether the survey has the detections of an engine for all of these terms.
func (s Survey) Covers(engine answer.Engine, terms []string) bool {
	return s.Engine == engine && !slices.ContainsFunc(terms, func(term string) bool { return !slices.Contains(s.Evidence.Terms, term) })
}

// Missing returns the instants that are not among the known ones.
func Missing(at, known []float64) []float64 {
	var missing []float64
	for _, t := range at {
		if _, found := slices.BinarySearch(known, t); !found {
			missing = append(missing, t)
		}
	}
	return missing
}

// At returns the sample at an instant.
func (s Survey) At(t float64) (evidence.Frame, bool) {
	i, found := slices.BinarySearchFunc(s.Evidence.Frames, t, func(f evidence.Frame, t float64) int { return cmp.Compare(f.At, t) })
	if !found {
		return evidence.Frame{}, false
	}
	return s.Evidence.Frames[i], true
}

// Add adds a scan. Its frames replace earlier ones of the same instants. It returns an error
// when the spool or the disk is full.
func (s *Survey) Add(scan Scan) error {
	frames, err := s.Spool(scan.Frames)
	if err != nil {
		return err
	}
	at := slices.Clone(scan.At)
	for _, f := range frames {
		at = append(at, f.At)
	}
	s.Examined = union(s.Examined, at)
	if scan.Pose {
		s.Posed = union(s.Posed, at)
	}
	if scan.Turned {
		s.Turned = union(s.Turned, at)
	}
	if scan.Fine {
		s.Evidence.Fine = merged(s.Evidence.Fine, frames)
	} else {
		s.Evidence.Frames = merged(s.Evidence.Frames, frames)
	}
	return nil
}

func union(a, b []float64) []float64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// merged returns the frames of both lists in order. Of two frames at one instant it keeps the
// new one.
func merged(old, added []evidence.Frame) []evidence.Frame {
	all := slices.Concat(added, old)
	slices.SortStableFunc(all, func(a, b evidence.Frame) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(all, func(a, b evidence.Frame) bool { return a.At == b.At })
}

// maxTerms bounds the terms in a survey of an open model.
const maxTerms = 256

// With returns some terms followed by the other terms of the survey.
func (s Survey) With(terms []string) []string {
	all := slices.Clone(terms)
	for _, term := range s.Evidence.Terms {
		if len(all) < maxTerms && !slices.Contains(all, term) {
			all = append(all, term)
		}
	}
	return all
}

// For returns the evidence for some of the survey's terms, as if the model had been asked for
// only these.
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

// only leaves out the detections of terms without a place, and gives the others the new
// indexes of their terms.
func only(places []int, frames []evidence.Frame) []evidence.Frame {
	kept := make([]evidence.Frame, len(frames))
	for i, f := range frames {
		kept[i] = evidence.Frame{At: f.At, Source: &selection{f.Source, places}}
	}
	return kept
}
