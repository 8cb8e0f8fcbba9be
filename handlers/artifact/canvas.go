package artifact

import (
	"image"
	"image/color"
)

// canvas is a raw frame: a plane of brightness and, at half the width and height, two planes of
// color (YUV 4:2:0, BT.709, 16 to 235). Drawing touches only the pixels that change. Converting
// every frame to RGB and back would cost more than decoding it.
type canvas struct {
	width, height int // even
	y, u, v       []byte
}

func newCanvas(width, height int) canvas {
	return canvas{
		width: width, height: height,
		y: make([]byte, width*height), u: make([]byte, width*height/4), v: make([]byte, width*height/4),
	}
}

// rows returns the part of the canvas between two even rows. The part shares the memory.
func (c canvas) rows(from, to int) canvas {
	chroma := func(p []byte) []byte { return p[from/2*c.width/2 : to/2*c.width/2] }
	return canvas{width: c.width, height: to - from, y: c.y[from*c.width : to*c.width], u: chroma(c.u), v: chroma(c.v)}
}

// copyFrom copies a canvas of the same size.
func (c canvas) copyFrom(from canvas) {
	copy(c.y, from.y)
	copy(c.u, from.u)
	copy(c.v, from.v)
}

// ink is a color as the planes store it.
type ink struct{ y, u, v uint8 }

// inkOf converts a hexadecimal RGB number (BT.709, limited range).
func inkOf(hex uint32) ink {
	r, g, b := float64(hex>>16&0xff)/255, float64(hex>>8&0xff)/255, float64(hex&0xff)/255
	y := 0.2126*r + 0.7152*g + 0.0722*b
	return ink{uint8(16 + 219*y + 0.5), uint8(128 + 224*(b-y)/1.8556 + 0.5), uint8(128 + 224*(r-y)/1.5748 + 0.5)}
}

// rgb converts the color to RGB.
func (i ink) rgb() color.RGBA {
	y := (float64(i.y) - 16) / 219
	pb, pr := (float64(i.u)-128)/224, (float64(i.v)-128)/224
	r, b := y+1.5748*pr, y+1.8556*pb
	g := (y - 0.2126*r - 0.0722*b) / 0.7152
	part := func(x float64) uint8 { return uint8(min(max(x, 0), 1)*255 + 0.5) }
	return color.RGBA{part(r), part(g), part(b), 255}
}

const opaque = 255

// mix blends a color over another. alpha is 0 to 255.
func mix(under *byte, over uint8, alpha uint32) {
	*under = byte((uint32(*under)*(opaque-alpha) + uint32(over)*alpha + opaque/2) / opaque & 0xff)
}

func (c canvas) bounds() image.Rectangle { return image.Rect(0, 0, c.width, c.height) }

// fill paints a rectangle. Its color covers every pair of pixels that it touches.
func (c canvas) fill(r image.Rectangle, i ink, alpha uint8) {
	r = r.Intersect(c.bounds())
	if r.Empty() {
		return
	}
	for row := r.Min.Y; row < r.Max.Y; row++ {
		line := c.y[row*c.width+r.Min.X : row*c.width+r.Max.X]
		for x := range line {
			mix(&line[x], i.y, uint32(alpha))
		}
	}
	for row := r.Min.Y / 2; row < (r.Max.Y+1)/2; row++ {
		from, to := row*c.width/2+r.Min.X/2, row*c.width/2+(r.Max.X+1)/2
		for x := from; x < to; x++ {
			mix(&c.u[x], i.u, uint32(alpha))
			mix(&c.v[x], i.v, uint32(alpha))
		}
	}
}

// stamp paints a color through a mask. at is the top left corner.
func (c canvas) stamp(mask *image.Alpha, at image.Point, i ink) {
	at = at.Sub(mask.Rect.Min)
	r := mask.Rect.Add(at).Intersect(c.bounds())
	cover := func(x, y int) uint32 {
		p := image.Pt(x, y).Sub(at)
		if !p.In(mask.Rect) {
			return 0
		}
		return uint32(mask.Pix[mask.PixOffset(p.X, p.Y)])
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if a := cover(x, y); a > 0 {
				mix(&c.y[y*c.width+x], i.y, a)
			}
		}
	}
	for y := r.Min.Y / 2; y < (r.Max.Y+1)/2; y++ {
		for x := r.Min.X / 2; x < (r.Max.X+1)/2; x++ {
			a := (cover(2*x, 2*y) + cover(2*x+1, 2*y) + cover(2*x, 2*y+1) + cover(2*x+1, 2*y+1)) / 4
			if a > 0 {
				mix(&c.u[y*c.width/2+x], i.u, a)
				mix(&c.v[y*c.width/2+x], i.v, a)
			}
		}
	}
}

// place scales a frame into a rectangle with even corners. Each pixel is the mean of the source
// pixels that it covers.
func (c canvas) place(frame canvas, r image.Rectangle) {
	shrink(c.y, c.width, r, frame.y, frame.width, frame.height)
	half := image.Rect(r.Min.X/2, r.Min.Y/2, r.Max.X/2, r.Max.Y/2)
	shrink(c.u, c.width/2, half, frame.u, frame.width/2, frame.height/2)
	shrink(c.v, c.width/2, half, frame.v, frame.width/2, frame.height/2)
}

func shrink(to []byte, stride int, r image.Rectangle, from []byte, width, height int) {
	for y := range r.Dy() {
		top, bottom := y*height/r.Dy(), max((y+1)*height/r.Dy(), y*height/r.Dy()+1)
		for x := range r.Dx() {
			left, right := x*width/r.Dx(), max((x+1)*width/r.Dx(), x*width/r.Dx()+1)
			sum := 0
			for row := top; row < bottom; row++ {
				for _, b := range from[row*width+left : row*width+right] {
					sum += int(b)
				}
			}
			to[(r.Min.Y+y)*stride+r.Min.X+x] = byte(sum / ((bottom - top) * (right - left)) & 0xff)
		}
	}
}

// image converts the canvas for an image encoder.
func (c canvas) image() *image.RGBA {
	out := image.NewRGBA(c.bounds())
	for y := range c.height {
		for x := range c.width {
			half := y/2*(c.width/2) + x/2
			out.SetRGBA(x, y, ink{c.y[y*c.width+x], c.u[half], c.v[half]}.rgb())
		}
	}
	return out
}

// roundRect returns a mask of a rectangle with round corners and soft edges.
func roundRect(width, height int, radius float64) *image.Alpha {
	m := image.NewAlpha(image.Rect(0, 0, width, height))
	radius = min(radius, float64(min(width, height))/2)
	for y := range height {
		for x := range width {
			px, py := float64(x)+0.5, float64(y)+0.5
			// The distance from the nearest center of a corner, or from the line between two.
			dx := px - min(max(px, radius), float64(width)-radius)
			dy := py - min(max(py, radius), float64(height)-radius)
			cover := min(max(radius-hypot(dx, dy)+0.5, 0), 1)
			m.Pix[m.PixOffset(x, y)] = uint8(cover*opaque + 0.5)
		}
	}
	return m
}
