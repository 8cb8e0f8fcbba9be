package answer

import (
	"cmp"
	"math"
	"slices"
)

// Box is a rectangle in a frame, its corners normalised to 0..1 with the origin
// at the top left.
type Box struct {
	X1 float64 `json:"x1"`
	Y1 float64 `json:"y1"`
	X2 float64 `json:"x2"`
	Y2 float64 `json:"y2"`
}

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

// Frame is one sampled frame and what was seen in it.
type Frame struct {
	// At is the presentation time in seconds from the start of the video.
	At         float64
	Detections []Detection
	// Shades are the brightness of the picture in Cells by Cells equal parts, each 0 (black)
	// to MaxShade (white), row by row; nil when the engine does not tell it.
	Shades []byte
	// Kept tells Detections and Shades of a frame that does not hold them, else nil: what
	// hours of a crowd show is more than belongs in memory.
	Kept Kept
}

// Kept is what was seen in a frame. Whenever it is asked it says the same.
type Kept interface {
	// Seen returns Frame.Detections and, if closely, also their Keypoints and Colors and
	// Frame.Shades.
	Seen(closely bool) (detections []Detection, shades []byte)
}

// Seen is the frame with what was seen in it; without Keypoints, Colors and Shades it may
// be, unless closely.
func (f Frame) Seen(closely bool) Frame {
	if f.Kept == nil {
		return f
	}
	detections, shades := f.Kept.Seen(closely)
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

func (ev Evidence) aspect() float64 {
	if !(ev.Aspect > 0) || math.IsInf(ev.Aspect, 0) {
		return fallbackAspect
	}
	return ev.Aspect
}

// frames are those at a time that can be, in order and one each.
func (ev Evidence) frames() []Frame {
	frames := slices.DeleteFunc(slices.Clone(ev.Frames), func(f Frame) bool {
		return !(f.At >= 0) || math.IsInf(f.At, 0)
	})
	slices.SortStableFunc(frames, func(a, b Frame) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(frames, func(a, b Frame) bool { return a.At == b.At })
}
