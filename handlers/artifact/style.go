package artifact

import (
	"fmt"
	"image"
	"slices"
	"strings"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// The colours. Objects have bright ones that dark letters can be read on; everything else
// stands on a dark ground below the picture, so that no picture can make it unreadable.
var (
	ground = inkOf(0x0f172a)
	trough = inkOf(0x334155)
	bright = inkOf(0xf8fafc)
	dim    = inkOf(0x94a3b8)
	dark   = inkOf(0x0b1120)
	yes    = inkOf(0x34d399)
	no     = inkOf(0xf87171)
	unsure = inkOf(0xfbbf24)

	palette = []ink{inkOf(0x34d399), inkOf(0xfbbf24), inkOf(0x38bdf8), inkOf(0xf472b6), inkOf(0xa78bfa), inkOf(0xfb923c)}
)

// style is how things are drawn at one size of picture.
type style struct {
	regular, bold lettering
	// pad is the space between things, line the width of a frame, in pixels.
	pad, line int
}

// styleOf returns the style for a picture of a width in pixels.
func styleOf(width int) (style, error) {
	size := min(max(width/52, 13), 24)
	s := style{pad: (size*2/3 + 1) &^ 1, line: max(2, (width/240)&^1)}
	var err error
	if s.regular, err = newLettering(false, size); err != nil {
		return s, err
	}
	s.bold, err = newLettering(true, size)
	return s, err
}

// chip is a text on a coloured ground with round corners.
func (s style) chip(c canvas, text string, at image.Point, of, letters ink) image.Rectangle {
	size := s.chipSize(text)
	c.stamp(roundRect(size.X, size.Y, float64(size.Y)/5), at, of)
	s.bold.write(c, text, at.Add(image.Pt(s.pad*2/3, s.pad/6)), letters)
	return image.Rectangle{at, at.Add(size)}
}

func (s style) chipSize(text string) image.Point {
	return image.Pt(s.bold.width(text)+s.pad*4/3, s.bold.height+s.pad/3)
}

// mark is one object to be drawn.
type mark struct {
	box   evidence.Box
	of    ink
	label string
}

// smallFrame is the height, in lines, below which a label would hide what a frame shows.
const smallFrame = 3

// marks draws objects over a picture that fills a rectangle of the canvas: all frames, and
// then the labels, each where it hides neither a label before it nor a small object.
func (s style) marks(c canvas, picture image.Rectangle, marks []mark) {
	frames := make([]image.Rectangle, len(marks))
	for i := len(marks) - 1; i >= 0; i-- {
		frames[i] = s.frame(c, picture, marks[i])
	}
	var taken []image.Rectangle
	for _, f := range frames {
		if f.Dy() < smallFrame*s.bold.height {
			taken = append(taken, f)
		}
	}
	for i, m := range marks {
		if frames[i].Empty() {
			continue
		}
		at := s.labelAt(picture, frames[i], s.chipSize(m.label), taken)
		taken = append(taken, s.chip(c, m.label, at, m.of, dark))
	}
}

// labelAt is above a frame, else below it, else in its top corner: the first place that
// lies in the picture and is free, or the first.
func (s style) labelAt(picture, frame image.Rectangle, size image.Point, taken []image.Rectangle) image.Point {
	x := max(min(frame.Min.X, picture.Max.X-size.X), picture.Min.X)
	places := []int{frame.Min.Y - size.Y, frame.Max.Y, frame.Min.Y, frame.Min.Y - 2*size.Y, frame.Max.Y + size.Y}
	for _, y := range places {
		r := image.Rectangle{image.Pt(x, y), image.Pt(x, y).Add(size)}
		free := !slices.ContainsFunc(taken, func(t image.Rectangle) bool { return t.Overlaps(r) })
		if free && r.In(picture) {
			return r.Min
		}
	}
	return image.Pt(x, max(frame.Min.Y-size.Y, picture.Min.Y))
}

// frame draws the box of an object and returns where. A dark seam on both sides sets it off
// from any ground.
func (s style) frame(c canvas, picture image.Rectangle, m mark) image.Rectangle {
	b := m.box
	r := image.Rect(
		picture.Min.X+int(b.X1*float64(picture.Dx())), picture.Min.Y+int(b.Y1*float64(picture.Dy())),
		picture.Min.X+int(b.X2*float64(picture.Dx())), picture.Min.Y+int(b.Y2*float64(picture.Dy())),
	)
	// Even corners keep the colour of a frame where its brightness is.
	r = image.Rect(r.Min.X&^1, r.Min.Y&^1, (r.Max.X+1)&^1, (r.Max.Y+1)&^1).Intersect(picture)
	if r.Empty() {
		return r
	}
	outline(c, r.Inset(-1).Intersect(picture), 1, dark, 120)
	outline(c, r.Inset(s.line), 1, dark, 120)
	outline(c, r, s.line, m.of, opaque)
	return r
}

// outline paints the rim of a rectangle.
func outline(c canvas, r image.Rectangle, width int, i ink, alpha uint8) {
	if r.Dx() < 2*width || r.Dy() < 2*width {
		c.fill(r, i, alpha)
		return
	}
	c.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+width), i, alpha)
	c.fill(image.Rect(r.Min.X, r.Max.Y-width, r.Max.X, r.Max.Y), i, alpha)
	c.fill(image.Rect(r.Min.X, r.Min.Y+width, r.Min.X+width, r.Max.Y-width), i, alpha)
	c.fill(image.Rect(r.Max.X-width, r.Min.Y+width, r.Max.X, r.Max.Y-width), i, alpha)
}

// markOf is how a sight is drawn: named, and with how probable it is.
func (in Input) markOf(s answer.TrackPoint) mark {
	label := fmt.Sprintf("%s %.0f%%", in.Evidence.Terms[s.Term], 100*in.Calibration.Probability(s.Score))
	return mark{s.Box, in.inkFor(s), label}
}

// inkFor is the colour of a class: the first of the question is the first.
func (in Input) inkFor(s answer.TrackPoint) ink {
	for i, class := range in.Classes {
		if class == in.Evidence.Terms[s.Term] {
			return palette[i%len(palette)]
		}
	}
	return palette[0]
}

// verdict is the answer in a few letters, with its colour.
func (in Input) verdict() (string, ink) {
	text := strings.ToUpper(string(in.Result.Answer))
	if in.Result.Answer == answer.Indeterminate {
		return text, unsure
	}
	text = fmt.Sprintf("%s %.0f%%", text, 100*in.Result.Confidence)
	if n := in.Result.DetectedCount; n != nil {
		text += fmt.Sprintf(" · %d", *n)
	}
	if in.Result.Answer == answer.No {
		return text, no
	}
	return text, yes
}
