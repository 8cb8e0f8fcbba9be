package survey

import (
	"slices"

	"vqa/domain/answer"
)

// Need is what a question needs to know of a video.
type Need struct {
	// Weights names the model.
	Weights string
	// Terms are the classes that the question is about.
	Terms []string
	// IntervalS is the sampling interval in seconds.
	IntervalS float64
	// Pose and Colours say whether joints and colours are needed.
	Pose, Colours bool
}

// Survey is what a model saw in a whole video.
type Survey struct {
	// Weights names the model.
	Weights string
	// Pose and Colours say whether joints and colours were asked for.
	Pose, Colours bool
	// DecodedS is the length that was decoded, in seconds.
	DecodedS float64
	// Evidence is that of all terms that were asked for.
	Evidence answer.Evidence
}

// Covers reports whether the survey holds all that is needed.
func (s Survey) Covers(n Need) bool {
	if s.Weights != n.Weights || s.Evidence.IntervalS != n.IntervalS || n.Pose && !s.Pose || n.Colours && !s.Colours {
		return false
	}
	for _, term := range n.Terms {
		if !slices.Contains(s.Evidence.Terms, term) {
			return false
		}
	}
	return true
}

// maxTerms bounds what a survey of an open model gathers.
const maxTerms = 256

// Or is what is needed together with what a survey by the same model holds.
func (n Need) Or(s Survey) Need {
	if s.Weights != n.Weights {
		return n
	}
	n.Pose, n.Colours, n.Terms = n.Pose || s.Pose, n.Colours || s.Colours, slices.Clone(n.Terms)
	for _, term := range s.Evidence.Terms {
		if len(n.Terms) < maxTerms && !slices.Contains(n.Terms, term) {
			n.Terms = append(n.Terms, term)
		}
	}
	return n
}

// For returns the evidence for some of the survey's terms, as if only they had been asked
// for.
func (s Survey) For(terms []string) answer.Evidence {
	ev := s.Evidence
	ev.Terms, ev.Known, ev.Frames = terms, make([]bool, len(terms)), make([]answer.Frame, len(s.Evidence.Frames))
	place := make(map[int]int, len(terms))
	for i, term := range terms {
		at := slices.Index(s.Evidence.Terms, term)
		if at < 0 || at >= len(s.Evidence.Known) {
			continue
		}
		place[at], ev.Known[i] = i, s.Evidence.Known[at]
	}
	for i, frame := range s.Evidence.Frames {
		ev.Frames[i].At = frame.At
		for _, d := range frame.Detections {
			if term, asked := place[d.Term]; asked {
				d.Term = term
				ev.Frames[i].Detections = append(ev.Frames[i].Detections, d)
			}
		}
	}
	return ev
}
