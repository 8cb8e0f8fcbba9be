package evidence

import (
	"cmp"
	"math"
	"slices"
)

// NumKeypoints is the number of keypoints of a body in COCO order.
const NumKeypoints = 17

// Keypoint is one joint of a body, its place normalized to the frame.
type Keypoint struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Score float64 `json:"score"`
}

// Detection is one object that the model reported for one frame.
type Detection struct {
	// Term is the index of the detected term in Evidence.Terms.
	Term int
	Box  Box
	// Score is the raw score of the model, 0..1. It is not a probability: the calibration of
	// package answer turns it into one.
	Score float64
	// Keypoints holds NumKeypoints joints when a pose was requested, else nil.
	Keypoints []Keypoint
	// Colors says how much of the box has each of Evidence.Colors, 0..1. A pixel between two
	// names counts for both. Nil when colors were not requested.
	Colors []float32
	// Turned is true when only a turned view of the frame shows the object.
	Turned bool
}

const (
	// Cells is the number of rows of Frame.Shades, and of columns.
	Cells = 32
	// MaxShade is white in Frame.Shades.
	MaxShade = 31
)

// Frame is one sampled frame with its detections.
type Frame struct {
	// At is the presentation time in seconds from the start of the video.
	At         float64
	Detections []Detection
	// Shades is the brightness of the picture in Cells by Cells equal parts, row by row. Each
	// is from 0 (black) to MaxShade (white). It is nil when the engine does not report it.
	Shades []byte
	// Source loads Detections and Shades when the frame does not hold them itself, else it is
	// nil. The detections of hours of video do not fit in memory.
	Source Source
}

// Source loads the detections of a frame from where they are stored. Each call returns the
// same values.
type Source interface {
	// Load returns Frame.Detections. With details, the detections have their Keypoints and
	// Colors, and shades are Frame.Shades.
	Load(details bool) (detections []Detection, shades []byte)
}

// Load returns the frame with its detections in memory. Without details, Keypoints, Colors
// and Shades may be missing.
func (f Frame) Load(details bool) Frame {
	if f.Source == nil {
		return f
	}
	detections, shades := f.Source.Load(details)
	return Frame{At: f.At, Detections: detections, Shades: shades}
}

// Evidence is everything that the model reported about one video for a set of terms. It is
// complete: a frame without detections was examined and shows none of the terms.
type Evidence struct {
	// Terms are the classes that the model was asked to find, in order, unique.
	Terms []string
	// Known says for each of Terms whether the model can assess it at all.
	Known []bool
	// Colors names the columns of Detection.Colors; nil when the model reports none. "red" is
	// the share in the whole box, "red/2" that in the second quarter of a person's box from
	// the top.
	Colors []string
	// Frames are the samples, ordered by At.
	Frames []Frame
	// Fine are further frames between the samples, ordered by At. They refine the edges of
	// clips and show short occurrences. All other rules use Frames alone.
	Fine []Frame
	// Aspect is the width of a frame over its height; 0 when unknown.
	Aspect float64
	// IntervalS is the sampling interval in seconds, > 0.
	IntervalS float64
	// DurationS is the duration of the video in seconds; 0 when unknown.
	DurationS float64
}

// fallbackAspect is the aspect ratio of a video whose aspect is unknown.
const fallbackAspect = 16. / 9

// AspectRatio is Aspect, or 16:9 when Aspect is unknown.
func (ev Evidence) AspectRatio() float64 {
	if !(ev.Aspect > 0) || math.IsInf(ev.Aspect, 0) {
		return fallbackAspect
	}
	return ev.Aspect
}

// Timeline returns all frames that have a valid time, samples and fine ones, in order and without
// repetition.
func (ev Evidence) Timeline() []Frame {
	frames := slices.DeleteFunc(slices.Concat(ev.Frames, ev.Fine), func(f Frame) bool {
		return !(f.At >= 0) || math.IsInf(f.At, 0)
	})
	slices.SortStableFunc(frames, func(a, b Frame) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(frames, func(a, b Frame) bool { return a.At == b.At })
}
