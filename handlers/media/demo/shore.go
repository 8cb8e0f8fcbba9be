package demo

import "math"

// The shore: three kites come into the sky one after the other, and a boat sails by.
const (
	seaTop    = 250.0
	beach     = 306.0
	kiteSize  = 48.0
	kiteDrift = 520.0 // how far to the right a kite comes from, pixels
	// kiteEnterS is how long it takes a kite to find its place.
	kiteEnterS = 1.6
)

// kites are where they stand, when each begins to come in, and how they look.
var kites = [...]struct {
	x, y, fromS, lean, phase float64
	a, b                     uint32
}{
	{170, 112, -2, -0.35, 0, 0xd8323c, 0xf2c230},
	{352, 86, 1.2, 0.12, 2.1, 0x2a6fc0, 0xf4f4f0},
	{520, 142, 3.0, 0.38, 4.3, 0x3a9a4a, 0xf08a2a},
}

// shore returns the painter of the scene.
func shore() func(atS float64) canvas {
	still := newCanvas()
	still.fill(bar(-1, -1, Width+1, seaTop+1, 0), falling(0, rgb(0x4f94d4), seaTop, rgb(0xd6e9f5)))
	still.fill(bar(-1, seaTop, Width+1, beach, 0), falling(seaTop, rgb(0x3f87ad), beach, rgb(0x6fb2c4)))
	still.fill(bar(-1, beach, Width+1, Height+1, 0), falling(beach, rgb(0xe9d8ac), Height, rgb(0xd8bf86)))
	return func(atS float64) canvas {
		c := still.over()
		c.clouds(-atS * 3)
		c.waves(atS)
		c.boat(70+46*atS, 270+1.5*math.Sin(atS*1.9))
		for _, k := range kites {
			come := min(max((atS-k.fromS)/kiteEnterS, 0), 1)
			if come == 0 {
				continue
			}
			away := (1 - come) * (1 - come) * kiteDrift
			c.kite(
				k.x+away+9*math.Sin(atS*0.9+k.phase), k.y+11*math.Sin(atS*1.3+k.phase),
				k.lean+0.1*math.Sin(atS*1.6+k.phase), 4*atS+k.phase, rgb(k.a), rgb(k.b))
		}
		return c
	}
}

// waves are the light on the water and the foam at the beach.
func (c canvas) waves(atS float64) {
	for i := range 26 {
		y := seaTop + 6 + math.Mod(float64(i)*17.3, beach-seaTop-16)
		x := math.Mod(float64(i)*97.7+6*math.Sin(atS*1.2+float64(i)), Width)
		c.soft(ellipse(x, y, 12+8*(y-seaTop)/(beach-seaTop), 0.9), 2, flat(rgb(0xffffff).faint(0.35)))
	}
	for i := range 10 {
		c.soft(ellipse(float64(i)*72+10*math.Sin(atS+float64(i)), beach+2*math.Sin(atS*1.1+float64(i)), 52, 3), 4, flat(rgb(0xffffff).faint(0.6)))
	}
}

func (c canvas) boat(x, y float64) {
	c.soft(ellipse(x, y+15, 40, 3), 4, flat(rgb(0x1d4d66).faint(0.4)))
	c.fill(polygon(point{x - 34, y}, point{x + 38, y}, point{x + 25, y + 14}, point{x - 26, y + 14}), falling(y, rgb(0xf4f1ea), y+14, rgb(0xb03a30)))
	c.fill(bar(x-1.5, y-68, x+1.5, y, 0), flat(rgb(0x5a4634)))
	c.fill(polygon(point{x + 4, y - 64}, point{x + 4, y - 5}, point{x + 37, y - 5}), flat(rgb(0xfdfcf8)))
	c.fill(polygon(point{x - 4, y - 56}, point{x - 4, y - 5}, point{x - 29, y - 5}), flat(rgb(0xe9e4da)))
}

// kite leans by some radians; its tail waves.
func (c canvas) kite(x, y, lean, wave float64, a, b tone) {
	sin, cos := math.Sincos(lean)
	at := func(u, v float64) point { return point{x + kiteSize*(u*cos-v*sin), y + kiteSize*(u*sin+v*cos)} }
	top, right, bottom, left, middle := at(0, -1), at(0.72, -0.25), at(0, 1.2), at(-0.72, -0.25), at(0, -0.25)
	var tail []point
	for i := range 12 {
		s := float64(i) / 11
		tail = append(tail, at(0.35*s*math.Sin(s*9-wave), 1.2+0.9*s))
	}
	c.fill(outline(2.4, tail...), flat(a))
	c.fill(union(polygon(top, right, middle), polygon(left, middle, bottom)), flat(a))
	c.fill(union(polygon(top, middle, left), polygon(middle, right, bottom)), flat(b))
	c.fill(union(line(top, bottom, 1.6), line(left, right, 1.6)), flat(rgb(0x3a2a1a)))
}
