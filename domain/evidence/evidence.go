package evidence

import (
	"cmp"
	"math"
	"slices"
)

// NumKeypoints is the number of keypoints of a body, in COCO order.
const NumKeypoints = 17

// Keypoint is one joint of a body in COCO order, normalised to the frame.
type Keypoint struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Score float64 `json:"score"`
}

// Detection is one object that the model saw in one frame.
type Detection struct {
	// Term is the index of the detected term in Evidence.Terms.
	Term int
	Box  Box
	// Score is the model's raw score, 0..1; it is not a probability until a
	// Calibration has made it one.
	Score float64
	// Keypoints holds 17 joints when a pose was asked for, else nil.
	Keypoints []Keypoint
	// Colors holds the share of each of Evidence.Colors in the box, or nil when it was
	// not asked for.
	Colors []float32
}

const (
	// Cells is the number of rows of Frame.Shades, and of columns.
	Cells = 32
	// MaxShade is white in Frame.Shades.
	MaxShade = 31
)

// Frame is one sampled frame and what was seen in it.
type Frame struct {
	// At is the presentation time in seconds from the start of the video.
	At         float64
	Detections []Detection
	// Shades are the brightness of the picture in Cells by Cells equal parts, each 0 (black)
	// to MaxShade (white), row by row; nil when the engine does not tell it.
	Shades []byte
	// Source returns Detections and Shades where the frame does not hold them itself; else
	// nil. The detections of hours of video do not fit in memory.
	Source Source
}

// Source reads the detections of a frame that are stored elsewhere. Each call returns the
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

// Evidence is everything that the model reported about one video for one set of
// terms. It is complete: a frame without detections was looked at and showed none
// of the terms.
type Evidence struct {
	// Terms are the model's classes that were asked for, in order, unique.
	Terms []string
	// Known says for each of Terms whether the model can assess it at all.
	Known []bool
	// Colors names the columns of Detection.Colors; nil when the model gives none. "red" is
	// that of the box, "red/2" that of the second quarter of a person's box from the top.
	Colors []string
	// Frames are ordered by At.
	Frames []Frame
	// Fine are further frames between those of Frames, ordered by At: looked at only to
	// tell where clips begin and end. All other rules see Frames alone.
	Fine []Frame
	// Aspect is the width of a frame over its height; 0 when unknown.
	Aspect float64
	// IntervalS is the sampling interval in seconds, > 0.
	IntervalS float64
	// DurationS is the duration of the video in seconds; 0 when unknown.
	DurationS float64
}

// fallbackAspect stands in for the shape of a frame that the evidence does not tell.
const fallbackAspect = 16. / 9

// AspectRatio is Aspect, or that of most videos where Aspect is unknown.
func (ev Evidence) AspectRatio() float64 {
	if !(ev.Aspect > 0) || math.IsInf(ev.Aspect, 0) {
		return fallbackAspect
	}
	return ev.Aspect
}

// Ordered returns the frames with a valid time in the order of time, one for each time.
func (ev Evidence) Ordered() []Frame {
	frames := slices.DeleteFunc(slices.Clone(ev.Frames), func(f Frame) bool {
		return !(f.At >= 0) || math.IsInf(f.At, 0)
	})
	slices.SortStableFunc(frames, func(a, b Frame) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(frames, func(a, b Frame) bool { return a.At == b.At })
}
