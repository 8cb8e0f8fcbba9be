package artifact

import (
	"fmt"
	"image"
	"slices"
	"strings"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// The colors. Objects have bright colors under dark letters. Everything else stands on a dark
// background below the frame, where it is always readable.
var (
	background = inkOf(0x0f172a)
	rail       = inkOf(0x334155)
	bright     = inkOf(0xf8fafc)
	dim        = inkOf(0x94a3b8)
	dark       = inkOf(0x0b1120)
	yes        = inkOf(0x34d399)
	no         = inkOf(0xf87171)
	unsure     = inkOf(0xfbbf24)

	palette = []ink{inkOf(0x34d399), inkOf(0xfbbf24), inkOf(0x38bdf8), inkOf(0xf472b6), inkOf(0xa78bfa), inkOf(0xfb923c)}
)

// style holds the fonts and sizes for one width of video.
type style struct {
	regular, bold lettering
	// pad is the space between elements, line the width of a border, in pixels.
	pad, line int
}

// styleOf returns the style for a width in pixels.
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

// chip draws a text on a colored background with round corners.
func (s style) chip(c canvas, text string, at image.Point, of, letters ink) image.Rectangle {
	size := s.chipSize(text)
	c.stamp(roundRect(size.X, size.Y, float64(size.Y)/5), at, of)
	s.bold.write(c, text, at.Add(image.Pt(s.pad*2/3, s.pad/6)), letters)
	return image.Rectangle{at, at.Add(size)}
}

func (s style) chipSize(text string) image.Point {
	return image.Pt(s.bold.width(text)+s.pad*4/3, s.bold.height+s.pad/3)
}

// mark is the box and label of one object.
type mark struct {
	box   evidence.Box
	of    ink
	label string
}

// smallBorder is the height, in lines of text, below which a label would hide the object.
const smallBorder = 3

// marks draws objects over the area of the canvas that holds the frame: first all borders,
// then the labels. A label hides neither an earlier label nor a small object if possible.
func (s style) marks(c canvas, area image.Rectangle, marks []mark) {
	borders := make([]image.Rectangle, len(marks))
	for i := len(marks) - 1; i >= 0; i-- {
		borders[i] = s.border(c, area, marks[i])
	}
	var taken []image.Rectangle
	for _, f := range borders {
		if f.Dy() < smallBorder*s.bold.height {
			taken = append(taken, f)
		}
	}
	for i, m := range marks {
		if borders[i].Empty() {
			continue
		}
		at := s.labelAt(area, borders[i], s.chipSize(m.label), taken)
		taken = append(taken, s.chip(c, m.label, at, m.of, dark))
	}
}

// labelAt returns the first free place for a label inside the area: above the border, below
// it, in its top corner, two lines above, or two lines below. Without a free place it returns
// the one above.
func (s style) labelAt(area, border image.Rectangle, size image.Point, taken []image.Rectangle) image.Point {
	x := max(min(border.Min.X, area.Max.X-size.X), area.Min.X)
	places := []int{border.Min.Y - size.Y, border.Max.Y, border.Min.Y, border.Min.Y - 2*size.Y, border.Max.Y + size.Y}
	for _, y := range places {
		r := image.Rectangle{image.Pt(x, y), image.Pt(x, y).Add(size)}
		free := !slices.ContainsFunc(taken, func(t image.Rectangle) bool { return t.Overlaps(r) })
		if free && r.In(area) {
			return r.Min
		}
	}
	return image.Pt(x, max(border.Min.Y-size.Y, area.Min.Y))
}

// border draws the box of an object and returns its rectangle. A dark line on both sides makes
// it visible on every background.
func (s style) border(c canvas, area image.Rectangle, m mark) image.Rectangle {
	b := m.box
	r := image.Rect(
		area.Min.X+int(b.X1*float64(area.Dx())), area.Min.Y+int(b.Y1*float64(area.Dy())),
		area.Min.X+int(b.X2*float64(area.Dx())), area.Min.Y+int(b.Y2*float64(area.Dy())),
	)
	// Color has half the resolution of brightness, so even corners keep both in one place.
	r = image.Rect(r.Min.X&^1, r.Min.Y&^1, (r.Max.X+1)&^1, (r.Max.Y+1)&^1).Intersect(area)
	if r.Empty() {
		return r
	}
	outline(c, r.Inset(-1).Intersect(area), 1, dark, 120)
	outline(c, r.Inset(s.line), 1, dark, 120)
	outline(c, r, s.line, m.of, opaque)
	return r
}

// outline paints the edge of a rectangle.
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

// markOf returns the mark of an object, labeled with its noun and probability. The color is that of the noun
// in the question.
func (in Input) markOf(p point) mark {
	of := palette[slices.Index(in.Terms, p.term)%len(palette)]
	return mark{p.box, of, fmt.Sprintf("%s %.0f%%", p.term, 100*p.p)}
}

// verdict returns the answer as a short text, with its color: "YES 97%", "3 (97%)" for a question that asks
// for a number, "NO 80% · 1" for a threshold.
func (in Input) verdict() (string, ink) {
	text := strings.ToUpper(answer.Word(in.Intent, in.Result.Answer, in.Result.DetectedCount))
	switch n := in.Result.DetectedCount; {
	case in.Result.Answer == answer.Indeterminate:
		return text, unsure
	case in.Intent == query.Count:
		text = fmt.Sprintf("%s (%.0f%%)", text, 100*in.Result.Confidence)
	default:
		text = fmt.Sprintf("%s %.0f%%", text, 100*in.Result.Confidence)
		if n != nil {
			text += fmt.Sprintf(" · %d", *n)
		}
	}
	if in.Result.Answer == answer.No {
		return text, no
	}
	return text, yes
}
