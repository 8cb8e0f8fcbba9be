package demo

import (
	"math"

	"vqa/handlers/intake/demo/paint"
)

// The street: the camera passes one stop sign and stops at a crossing with two.
const (
	streetDurationS = 10
	horizon         = 226.0 // the upper edge of the pavement
	curb            = 292.0
	signRadius      = 46.0
	// cameraSpeed is the speed of the curb in the frame, pixels per second.
	cameraSpeed = 180.0
)

// signsAt are the places of the signs along the curb, in pixels from the left edge of the
// first frame.
var signsAt = [...]float64{800, 1790, 2090}

// street draws the scene.
func street() func(atS float64) canvas {
	sky := newCanvas()
	sky.Fill(paint.Bar(-1, -1, width+1, horizon+1, 0), paint.Falling(0, paint.RGB(0x6fa8dc), horizon, paint.RGB(0xdcebf5)))
	sky.Fill(paint.Bar(-1, horizon, width+1, curb, 0), paint.Falling(horizon, paint.RGB(0xb9b5ab), curb, paint.RGB(0xa39e93)))
	sky.Fill(paint.Bar(-1, curb, width+1, curb+8, 0), paint.Falling(curb, paint.RGB(0xdedbd3), curb+8, paint.RGB(0x8e8a82)))
	sky.Fill(paint.Bar(-1, curb+8, width+1, height+1, 0), paint.Falling(curb, paint.RGB(0x5b5d60), height, paint.RGB(0x484a4d)))
	return func(atS float64) canvas {
		c := sky.over()
		// The camera starts and stops gently.
		gone := cameraSpeed * eased(atS, streetDurationS)
		c.clouds(gone * 0.06)
		c.hills(gone * 0.2)
		c.houses(gone * 0.55)
		c.pavement(gone)
		for _, at := range signsAt {
			if x := at - gone; x > -signRadius && x < width+signRadius {
				c.StopSign(x, 128, signRadius, curb-6)
			}
		}
		return c
	}
}

// eased converts a time into the time that the camera has moved at full speed, in seconds.
// The camera accelerates in the first second and brakes in the last one, which costs one
// second in all.
func eased(atS, durationS float64) float64 {
	gained := func(t float64) float64 { t = min(max(t, 0), 1); return t * t / 2 }
	return gained(atS) + min(max(atS-1, 0), durationS-2) + 0.5 - gained(durationS-atS)
}

func (c canvas) clouds(gone float64) {
	for _, at := range [...][2]float64{{80, 48}, {330, 30}, {560, 66}, {820, 40}} {
		x, y := at[0]-gone, at[1]
		cloud := paint.Union(paint.Ellipse(x, y, 74, 9), paint.Ellipse(x-26, y-7, 44, 10), paint.Ellipse(x+30, y+6, 56, 8))
		c.Soft(cloud, 22, paint.Flat(paint.RGB(0xffffff).Faint(0.7)))
	}
}

func (c canvas) hills(gone float64) {
	for i := range 7 {
		x := float64(i)*210 - gone
		hill := paint.Ellipse(x, horizon+30, 170+20*math.Sin(float64(i)*2), 88+14*math.Sin(float64(i)*5))
		c.Fill(paint.Within(hill, paint.Bar(-1, -1, width+1, horizon, 0)), paint.Falling(130, paint.RGB(0x9fb79b), horizon, paint.RGB(0xb7c7ab)))
	}
}

// facades are the colors of walls and roofs, repeated from house to house.
var facades = [...][2]uint32{{0xc98f6b, 0x7a4c3a}, {0xd9c9a5, 0x6b5a4a}, {0xa9b7bd, 0x4f5a63}, {0xcfa9a0, 0x74443f}}

func (c canvas) houses(gone float64) {
	const pitch, side = 245.0, 170.0
	for i := range 9 {
		x := 30 + float64(i)*pitch - gone
		if x > width || x < -pitch {
			continue
		}
		wall, roof := paint.RGB(facades[i%len(facades)][0]), paint.RGB(facades[i%len(facades)][1])
		top := 128 + 12*float64(i%3)
		c.Fill(paint.Polygon(paint.At(x-12, top), paint.At(x+34, top-44), paint.At(x+side-34, top-44), paint.At(x+side+12, top)), paint.Flat(roof))
		c.Fill(paint.Bar(x, top, x+side, horizon, 0), paint.Falling(top, wall, horizon, paint.Mix(wall, paint.RGB(0x5a4a3a), 0.25)))
		for w := range 3 {
			left := x + 18 + float64(w)*50
			c.Fill(paint.Bar(left-2, top+18, left+34, top+58, 1), paint.Flat(paint.RGB(0xf4f1e8)))
			c.Fill(paint.Bar(left+1, top+21, left+31, top+55, 0), paint.Falling(top+20, paint.RGB(0x5f7d92), top+56, paint.RGB(0x8fb0c2)))
			c.Fill(paint.Bar(left+15, top+20, left+17, top+56, 0), paint.Flat(paint.RGB(0xf4f1e8)))
		}
		c.tree(x + side + 36)
	}
}

func (c canvas) tree(x float64) {
	c.Fill(paint.Bar(x-4, 176, x+4, horizon, 1), paint.Flat(paint.RGB(0x6d5540)))
	c.Fill(paint.Union(paint.Circle(x, 160, 26), paint.Circle(x-18, 172, 18), paint.Circle(x+18, 172, 18)), paint.Falling(136, paint.RGB(0x6f9a58), 190, paint.RGB(0x4d7742)))
}

// pavement draws the joints of the pavement and the dashes of the road.
func (c canvas) pavement(gone float64) {
	for x := -math.Mod(gone, 90) - 90; x < width+90; x += 90 {
		c.Fill(paint.Line(paint.At(x+24, horizon), paint.At(x, curb), 1.4), paint.Flat(paint.RGB(0x8a857b).Faint(0.8)))
	}
	const dash = 220
	ahead := gone * 1.35
	for x := -math.Mod(ahead, dash) - dash; x < width; x += dash {
		c.Fill(paint.Polygon(paint.At(x+8, 328), paint.At(x+118, 328), paint.At(x+112, 335), paint.At(x, 335)), paint.Flat(paint.RGB(0xe6e3da).Faint(0.9)))
	}
}
