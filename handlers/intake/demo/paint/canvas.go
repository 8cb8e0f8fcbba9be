package paint

import (
	"image"
	"math"
)

// Canvas is a picture to paint shapes on.
type Canvas struct{ *image.RGBA }

// New returns a black picture; the sizes are in pixels.
func New(width, height int) Canvas {
	return Canvas{image.NewRGBA(image.Rect(0, 0, width, height))}
}

// Over returns a copy of a finished picture to paint on.
func (c Canvas) Over() Canvas {
	next := New(c.Rect.Dx(), c.Rect.Dy())
	copy(next.Pix, c.Pix)
	return next
}

// Tone is a color with components from 0 to 255. Alpha is its opacity, 0 to 1.
type Tone struct{ r, g, b, alpha float64 }

// RGB returns the opaque color of a number such as 0xff8000.
func RGB(hex uint32) Tone {
	return Tone{float64(hex >> 16 & 0xff), float64(hex >> 8 & 0xff), float64(hex & 0xff), 1}
}

// Faint returns the color with this opacity.
func (t Tone) Faint(alpha float64) Tone { t.alpha = alpha; return t }

// Mix returns a color between two: a for a share of 0, b for a share of 1.
func Mix(a, b Tone, share float64) Tone {
	s := min(max(share, 0), 1)
	return Tone{a.r + (b.r-a.r)*s, a.g + (b.g-a.g)*s, a.b + (b.b-a.b)*s, a.alpha + (b.alpha-a.alpha)*s}
}

// Ink returns the color of a point.
type Ink func(x, y float64) Tone

// Flat returns one color for every point.
func Flat(t Tone) Ink { return func(float64, float64) Tone { return t } }

// Falling is a vertical gradient from a at the height top to b at the height bottom.
func Falling(top float64, a Tone, bottom float64, b Tone) Ink {
	return func(_, y float64) Tone { return Mix(a, b, (y-top)/(bottom-top)) }
}

// Fill paints a shape. The edge is one pixel wide.
func (c Canvas) Fill(s Shape, p Ink) { c.Soft(s, 1, p) }

// Soft paints a shape with an edge that fades over a number of pixels, for shadows.
func (c Canvas) Soft(s Shape, edge float64, p Ink) {
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

func (c Canvas) blend(column, row int, t Tone, cover float64) {
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
