package demo

import (
	"math"

	"vqa/handlers/intake/demo/paint"
)

// The shore: three kites rise one after the other, and a boat sails past.
const (
	seaTop    = 250.0
	beach     = 306.0
	kiteSize  = 48.0
	kiteDrift = 520.0 // distance from the start of a kite to its place, pixels
	// kiteEnterS is the time that a kite needs to reach its place.
	kiteEnterS = 1.6
)

// kites are their places, the times at which they start, and their angles and colors.
var kites = [...]struct {
	x, y, fromS, lean, phase float64
	a, b                     uint32
}{
	{170, 112, -2, -0.35, 0, 0xd8323c, 0xf2c230},
	{352, 86, 1.2, 0.12, 2.1, 0x2a6fc0, 0xf4f4f0},
	{520, 142, 3.0, 0.38, 4.3, 0x3a9a4a, 0xf08a2a},
}

// shore draws the scene.
func shore() func(atS float64) canvas {
	still := newCanvas()
	still.Fill(paint.Bar(-1, -1, width+1, seaTop+1, 0), paint.Falling(0, paint.RGB(0x4f94d4), seaTop, paint.RGB(0xd6e9f5)))
	still.Fill(paint.Bar(-1, seaTop, width+1, beach, 0), paint.Falling(seaTop, paint.RGB(0x3f87ad), beach, paint.RGB(0x6fb2c4)))
	still.Fill(paint.Bar(-1, beach, width+1, height+1, 0), paint.Falling(beach, paint.RGB(0xe9d8ac), height, paint.RGB(0xd8bf86)))
	return func(atS float64) canvas {
		c := still.over()
		c.clouds(-atS * 3)
		c.waves(atS)
		c.Boat(70+46*atS, 270+1.5*math.Sin(atS*1.9))
		for _, k := range kites {
			come := min(max((atS-k.fromS)/kiteEnterS, 0), 1)
			if come == 0 {
				continue
			}
			away := (1 - come) * (1 - come) * kiteDrift
			c.Kite(
				k.x+away+9*math.Sin(atS*0.9+k.phase), k.y+11*math.Sin(atS*1.3+k.phase), kiteSize,
				k.lean+0.1*math.Sin(atS*1.6+k.phase), 4*atS+k.phase, paint.RGB(k.a), paint.RGB(k.b))
		}
		return c
	}
}

// waves draws the light on the water and the foam at the beach.
func (c canvas) waves(atS float64) {
	for i := range 26 {
		y := seaTop + 6 + math.Mod(float64(i)*17.3, beach-seaTop-16)
		x := math.Mod(float64(i)*97.7+6*math.Sin(atS*1.2+float64(i)), width)
		c.Soft(paint.Ellipse(x, y, 12+8*(y-seaTop)/(beach-seaTop), 0.9), 2, paint.Flat(paint.RGB(0xffffff).Faint(0.35)))
	}
	for i := range 10 {
		c.Soft(paint.Ellipse(float64(i)*72+10*math.Sin(atS+float64(i)), beach+2*math.Sin(atS*1.1+float64(i)), 52, 3), 4, paint.Flat(paint.RGB(0xffffff).Faint(0.6)))
	}
}
