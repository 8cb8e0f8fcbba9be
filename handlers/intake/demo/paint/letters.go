package paint

// glyphs are the letters as strokes in a box of width 0.6 and height 1.
var glyphs = map[rune]func(at func(x, y float64) Point, width float64) Shape{
	'S': func(at func(x, y float64) Point, width float64) Shape {
		return Outline(width, at(0.57, 0.17), at(0.47, 0.04), at(0.30, 0), at(0.13, 0.04), at(0.03, 0.16), at(0.04, 0.31), at(0.14, 0.42),
			at(0.30, 0.49), at(0.46, 0.56), at(0.56, 0.68), at(0.57, 0.83), at(0.47, 0.96), at(0.30, 1), at(0.13, 0.96), at(0.03, 0.83))
	},
	'T': func(at func(x, y float64) Point, width float64) Shape {
		return Union(Line(at(0, 0), at(0.6, 0), width), Line(at(0.3, 0), at(0.3, 1), width))
	},
	'O': func(at func(x, y float64) Point, width float64) Shape {
		return Outline(width, at(0.30, 0), at(0.46, 0.04), at(0.57, 0.18), at(0.60, 0.5), at(0.57, 0.82), at(0.46, 0.96), at(0.30, 1),
			at(0.14, 0.96), at(0.03, 0.82), at(0, 0.5), at(0.03, 0.18), at(0.14, 0.04), at(0.30, 0))
	},
	'P': func(at func(x, y float64) Point, width float64) Shape {
		return Outline(width, at(0.04, 1), at(0.04, 0), at(0.36, 0), at(0.52, 0.06), at(0.58, 0.18), at(0.58, 0.34), at(0.52, 0.46), at(0.36, 0.52), at(0.04, 0.52))
	},
}

// word paints a text that is centered at a point. size is the height of a letter.
func word(c Canvas, text string, x, y, size, width float64, t Tone) {
	advance := 0.6*size + 1.75*width
	left := x - (float64(len(text))*advance-1.75*width)/2
	for i, letter := range text {
		at := func(u, v float64) Point { return Point{left + float64(i)*advance + u*size, y - size/2 + v*size} }
		c.Fill(glyphs[letter](at, width), Flat(t))
	}
}
