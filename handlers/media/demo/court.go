package demo

import "math"

// The court: a tennis ball bounces across it.
const (
	fenceTop   = 92.0
	fenceFoot  = 164.0
	ballRadius = 29.0
	ballGround = 318.0
	ballEnterS = 1.25
	ballLeaveS = 6.75
	bounces    = 4
	bounceRise = 92.0 // of the first, pixels
)

// court returns the painter of the scene.
func court() func(atS float64) canvas {
	still := newCanvas()
	still.fill(bar(-1, -1, Width+1, fenceTop+1, 0), falling(0, rgb(0x6fa8dc), fenceTop, rgb(0xdcebf5)))
	for i := range 5 {
		x := 20 + float64(i)*170
		still.fill(ellipse(x, fenceTop+10, 150, 44+9*math.Sin(float64(i)*2.4)), falling(fenceTop-50, rgb(0xa9c19f), fenceTop, rgb(0x86a67c)))
	}
	still.fill(bar(-1, fenceTop, Width+1, fenceFoot, 0), falling(fenceTop, rgb(0x2f5a3a), fenceFoot, rgb(0x3c6b46)))
	still.fill(bar(-1, fenceTop-2, Width+1, fenceTop+2, 1), flat(rgb(0x24452d)))
	still.fill(bar(-1, fenceFoot, Width+1, Height+1, 0), falling(fenceFoot, rgb(0x3f76ad), Height, rgb(0x2c5a8e)))
	white := falling(fenceFoot, rgb(0xe3e8ec), Height, rgb(0xffffff))
	still.fill(bar(-1, 190, Width+1, 193, 0), white)
	still.fill(bar(-1, 332, Width+1, 339, 0), white)
	return func(atS float64) canvas {
		c := still.over()
		if x, y, visible := ballAt(atS); visible {
			high := (ballGround - ballRadius - y) / bounceRise
			c.soft(ellipse(x, ballGround, ballRadius*(1-0.35*high), 6*(1-0.3*high)), 9, flat(rgb(0x08182c).faint(0.55-0.35*high)))
			c.ball(x, y, 2.4*atS)
		}
		return c
	}
}

// ballAt is the centre of the ball, and whether any of it is in the picture.
func ballAt(atS float64) (x, y float64, visible bool) {
	share := (atS - ballEnterS) / (ballLeaveS - ballEnterS)
	x = -ballRadius + (Width+2*ballRadius)*share
	which, fall := math.Modf(share * bounces)
	high := bounceRise * math.Pow(0.82, which) * 4 * fall * (1 - fall)
	return x, ballGround - ballRadius - high, share > 0 && share < 1
}

// ball is a tennis ball, turned by some radians, with the light from the upper left.
func (c canvas) ball(x, y, turn float64) {
	sin, cos := math.Sincos(turn)
	c.fill(circle(x, y, ballRadius), func(px, py float64) tone {
		u, v := (px-x)/ballRadius, (py-y)/ballRadius
		a, b := u*cos+v*sin, v*cos-u*sin
		seam := min(math.Abs(math.Hypot(a-1.15, b)-0.85), math.Abs(math.Hypot(a+1.15, b)-0.85))
		felt := mix(rgb(0xf6f8ee), rgb(0xc9dd3a), (seam-0.05)/0.05)
		towards := math.Sqrt(max(0, 1-u*u-v*v))
		return mix(rgb(0x3c4210), felt, 0.42+0.6*max(0, 0.72*towards-0.42*u-0.55*v))
	})
}
