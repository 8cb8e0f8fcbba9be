package demo

import (
	"image"
	"math"
)

// canvas is a picture that shapes are painted on, with soft edges.
type canvas struct{ *image.RGBA }

func newCanvas() canvas { return canvas{image.NewRGBA(image.Rect(0, 0, Width, Height))} }

// over returns a copy of a finished picture to paint on.
func (c canvas) over() canvas {
	next := newCanvas()
	copy(next.Pix, c.Pix)
	return next
}

// tone is a colour, 0 to 255 each, that covers what is under it by alpha, 0 to 1.
type tone struct{ r, g, b, alpha float64 }

// rgb is the opaque colour of a hexadecimal number.
func rgb(hex uint32) tone {
	return tone{float64(hex >> 16 & 0xff), float64(hex >> 8 & 0xff), float64(hex & 0xff), 1}
}

// faint is the colour with this alpha.
func (t tone) faint(alpha float64) tone { t.alpha = alpha; return t }

// mix is the colour that lies between two, at 0 the first.
func mix(a, b tone, share float64) tone {
	s := min(max(share, 0), 1)
	return tone{a.r + (b.r-a.r)*s, a.g + (b.g-a.g)*s, a.b + (b.b-a.b)*s, a.alpha + (b.alpha-a.alpha)*s}
}

// paint gives every point its colour.
type paint func(x, y float64) tone

func flat(t tone) paint { return func(float64, float64) tone { return t } }

// falling runs from one colour at a height to another at a lower one.
func falling(top float64, a tone, bottom float64, b tone) paint {
	return func(_, y float64) tone { return mix(a, b, (y-top)/(bottom-top)) }
}

// fill paints a shape. The edge is one pixel wide.
func (c canvas) fill(s shape, p paint) { c.soft(s, 1, p) }

// soft paints a shape whose edge fades over so many pixels, as a shadow's does.
func (c canvas) soft(s shape, edge float64, p paint) {
	area := image.Rect(
		int(math.Floor(s.left-edge)), int(math.Floor(s.top-edge)), int(math.Ceil(s.right+edge)), int(math.Ceil(s.bottom+edge)),
	).Intersect(c.Rect)
	for row := area.Min.Y; row < area.Max.Y; row++ {
		for column := area.Min.X; column < area.Max.X; column++ {
			x, y := float64(column)+0.5, float64(row)+0.5
			cover := min(max(0.5-s.distance(x, y)/edge, 0), 1)
			if cover > 0 {
				c.blend(column, row, p(x, y), cover)
			}
		}
	}
}

func (c canvas) blend(column, row int, t tone, cover float64) {
	pix := c.Pix[c.PixOffset(column, row):]
	share := t.alpha * cover
	if share == 1 {
		pix[0], pix[1], pix[2], pix[3] = uint8(t.r+0.5), uint8(t.g+0.5), uint8(t.b+0.5), 255
		return
	}
	for i, v := range [3]float64{t.r, t.g, t.b} {
		pix[i] = uint8(min(max(float64(pix[i])*(1-share)+v*share+0.5, 0), 255))
	}
	pix[3] = 255
}
