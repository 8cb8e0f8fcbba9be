package demo

import "math"

// The street: the camera passes a stop sign, and comes to a crossing with two.
const (
	streetDurationS = 10
	horizon         = 226.0 // the upper edge of the pavement
	kerb            = 292.0
	signRadius      = 46.0
	// cameraSpeed is in pixels a second, for what stands at the kerb.
	cameraSpeed = 180.0
)

// signsAt are the places of the signs along the kerb, in pixels from where the left
// edge of the picture is at 0 s.
var signsAt = [...]float64{800, 1790, 2090}

// street returns the painter of the scene.
func street() func(atS float64) canvas {
	sky := newCanvas()
	sky.fill(bar(-1, -1, Width+1, horizon+1, 0), falling(0, rgb(0x6fa8dc), horizon, rgb(0xdcebf5)))
	sky.fill(bar(-1, horizon, Width+1, kerb, 0), falling(horizon, rgb(0xb9b5ab), kerb, rgb(0xa39e93)))
	sky.fill(bar(-1, kerb, Width+1, kerb+8, 0), falling(kerb, rgb(0xdedbd3), kerb+8, rgb(0x8e8a82)))
	sky.fill(bar(-1, kerb+8, Width+1, Height+1, 0), falling(kerb, rgb(0x5b5d60), Height, rgb(0x484a4d)))
	return func(atS float64) canvas {
		c := sky.over()
		// The camera starts and stops gently.
		gone := cameraSpeed * eased(atS, streetDurationS)
		c.clouds(gone * 0.06)
		c.hills(gone * 0.2)
		c.houses(gone * 0.55)
		c.pavement(gone)
		for _, at := range signsAt {
			if x := at - gone; x > -signRadius && x < Width+signRadius {
				c.stopSign(x, 128, signRadius)
			}
		}
		return c
	}
}

// eased is how long a camera seems to have moved at full speed that gathers it in the
// first second and loses it in the last: a second less in all.
func eased(atS, durationS float64) float64 {
	gained := func(t float64) float64 { t = min(max(t, 0), 1); return t * t / 2 }
	return gained(atS) + min(max(atS-1, 0), durationS-2) + 0.5 - gained(durationS-atS)
}

func (c canvas) clouds(gone float64) {
	for _, at := range [...]point{{80, 48}, {330, 30}, {560, 66}, {820, 40}} {
		x := at.x - gone
		cloud := union(ellipse(x, at.y, 74, 9), ellipse(x-26, at.y-7, 44, 10), ellipse(x+30, at.y+6, 56, 8))
		c.soft(cloud, 22, flat(rgb(0xffffff).faint(0.7)))
	}
}

func (c canvas) hills(gone float64) {
	for i := range 7 {
		x := float64(i)*210 - gone
		hill := ellipse(x, horizon+30, 170+20*math.Sin(float64(i)*2), 88+14*math.Sin(float64(i)*5))
		c.fill(within(hill, bar(-1, -1, Width+1, horizon, 0)), falling(130, rgb(0x9fb79b), horizon, rgb(0xb7c7ab)))
	}
}

// facades are the walls and the roofs of the houses, in turn.
var facades = [...][2]uint32{{0xc98f6b, 0x7a4c3a}, {0xd9c9a5, 0x6b5a4a}, {0xa9b7bd, 0x4f5a63}, {0xcfa9a0, 0x74443f}}

func (c canvas) houses(gone float64) {
	const pitch, width = 245.0, 170.0
	for i := range 9 {
		x := 30 + float64(i)*pitch - gone
		if x > Width || x < -pitch {
			continue
		}
		wall, roof := rgb(facades[i%len(facades)][0]), rgb(facades[i%len(facades)][1])
		top := 128 + 12*float64(i%3)
		c.fill(polygon(point{x - 12, top}, point{x + 34, top - 44}, point{x + width - 34, top - 44}, point{x + width + 12, top}), flat(roof))
		c.fill(bar(x, top, x+width, horizon, 0), falling(top, wall, horizon, mix(wall, rgb(0x5a4a3a), 0.25)))
		for w := range 3 {
			left := x + 18 + float64(w)*50
			c.fill(bar(left-2, top+18, left+34, top+58, 1), flat(rgb(0xf4f1e8)))
			c.fill(bar(left+1, top+21, left+31, top+55, 0), falling(top+20, rgb(0x5f7d92), top+56, rgb(0x8fb0c2)))
			c.fill(bar(left+15, top+20, left+17, top+56, 0), flat(rgb(0xf4f1e8)))
		}
		c.tree(x + width + 36)
	}
}

func (c canvas) tree(x float64) {
	c.fill(bar(x-4, 176, x+4, horizon, 1), flat(rgb(0x6d5540)))
	c.fill(union(circle(x, 160, 26), circle(x-18, 172, 18), circle(x+18, 172, 18)), falling(136, rgb(0x6f9a58), 190, rgb(0x4d7742)))
}

// pavement has its joints, and the road its dashes.
func (c canvas) pavement(gone float64) {
	for x := -math.Mod(gone, 90) - 90; x < Width+90; x += 90 {
		c.fill(line(point{x + 24, horizon}, point{x, kerb}, 1.4), flat(rgb(0x8a857b).faint(0.8)))
	}
	const dash = 220
	ahead := gone * 1.35
	for x := -math.Mod(ahead, dash) - dash; x < Width; x += dash {
		c.fill(polygon(point{x + 8, 328}, point{x + 118, 328}, point{x + 112, 335}, point{x, 335}), flat(rgb(0xe6e3da).faint(0.9)))
	}
}

// stopSign stands with its centre at a point.
func (c canvas) stopSign(x, y, r float64) {
	c.soft(ellipse(x+16, kerb-6, 26, 5), 8, flat(rgb(0x000000).faint(0.3)))
	c.fill(bar(x-3.5, y, x+3.5, kerb-6, 1), falling(y, rgb(0x9a9da1), kerb, rgb(0x7d8084)))
	c.fill(regular(x, y, r, 8, 22.5), flat(rgb(0xf3f3f3)))
	c.fill(regular(x, y, 0.93*r, 8, 22.5), falling(y-r, rgb(0xcf2430), y+r, rgb(0xb01824)))
	word(c, "STOP", x, y, 0.50*r, 0.085*r, rgb(0xf6f6f6))
}
