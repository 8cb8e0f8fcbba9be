package evidence

import "math"

// Box is a rectangle in a frame. Its corners are normalized to 0..1, with the origin at the
// top left.
type Box struct {
	X1 float64 `json:"x1"`
	Y1 float64 `json:"y1"`
	X2 float64 `json:"x2"`
	Y2 float64 `json:"y2"`
}

// InFrame returns the part of a box that lies within the frame.
func (b Box) InFrame() Box {
	in := func(x float64) float64 {
		if math.IsNaN(x) {
			return 0
		}
		return min(max(x, 0), 1)
	}
	return Box{X1: in(b.X1), Y1: in(b.Y1), X2: in(b.X2), Y2: in(b.Y2)}
}

// Area is the area of a box as a share of the frame; 0 when its corners are swapped.
func Area(b Box) float64 { return max(0, b.X2-b.X1) * max(0, b.Y2-b.Y1) }

func intersection(a, b Box) float64 {
	return Area(Box{X1: max(a.X1, b.X1), Y1: max(a.Y1, b.Y1), X2: min(a.X2, b.X2), Y2: min(a.Y2, b.Y2)})
}

// IoU is the intersection of two boxes over their union, 0..1; 0 for boxes without an area.
func IoU(a, b Box) float64 {
	i := intersection(a, b)
	if !(i > 0) {
		return 0
	}
	return i / (Area(a) + Area(b) - i)
}

// ShareInside is the share of the area of a that lies in b, 0..1.
func ShareInside(a, b Box) float64 {
	i := intersection(a, b)
	if !(i > 0) {
		return 0
	}
	return i / Area(a)
}

// In returns the place in the scene of a box in the picture.
func (v View) In(b Box) Box {
	return Box{X1: b.X1 - v.X, Y1: b.Y1 - v.Y, X2: b.X2 - v.X, Y2: b.Y2 - v.Y}
}

// Side is an edge of the frame.
type Side string

// The edges of the frame.
const (
	Left   Side = "left"
	Right  Side = "right"
	Top    Side = "top"
	Bottom Side = "bottom"
)

// Border is the distance from an edge of the frame within which a box touches that edge.
const Border = .02

// Touches reports whether a box is within Border of one side of the frame.
func (b Box) Touches(side Side) bool {
	switch side {
	case Left:
		return b.X1 <= Border
	case Right:
		return b.X2 >= 1-Border
	case Top:
		return b.Y1 <= Border
	default:
		return b.Y2 >= 1-Border
	}
}

// Distance is the distance between the centers of two boxes, in their mean height; infinite for boxes
// without a height.
func Distance(a, b Box, aspect float64) float64 {
	dx := (a.X1 + a.X2 - b.X1 - b.X2) / 2 * aspect
	dy := (a.Y1 + a.Y2 - b.Y1 - b.Y2) / 2
	height := (a.Y2 - a.Y1 + b.Y2 - b.Y1) / 2
	if !(height > 0) {
		return math.Inf(1)
	}
	return math.Hypot(dx, dy) / height
}
