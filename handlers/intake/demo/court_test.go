package demo

import (
	"math"

	"vqa/handlers/intake/demo/paint"
)

// The court: a tennis ball bounces from left to right.
const (
	fenceTop   = 92.0
	fenceFoot  = 164.0
	ballRadius = 29.0
	ballGround = 318.0
	ballEnterS = 1.25
	ballLeaveS = 6.75
	bounces    = 4
	bounceRise = 92.0 // height of the first bounce, pixels
)

// court draws the scene.
func court() func(atS float64) canvas {
	still := newCanvas()
	still.Fill(paint.Bar(-1, -1, width+1, fenceTop+1, 0), paint.Falling(0, paint.RGB(0x6fa8dc), fenceTop, paint.RGB(0xdcebf5)))
	for i := range 5 {
		x := 20 + float64(i)*170
		still.Fill(paint.Ellipse(x, fenceTop+10, 150, 44+9*math.Sin(float64(i)*2.4)), paint.Falling(fenceTop-50, paint.RGB(0xa9c19f), fenceTop, paint.RGB(0x86a67c)))
	}
	still.Fill(paint.Bar(-1, fenceTop, width+1, fenceFoot, 0), paint.Falling(fenceTop, paint.RGB(0x2f5a3a), fenceFoot, paint.RGB(0x3c6b46)))
	still.Fill(paint.Bar(-1, fenceTop-2, width+1, fenceTop+2, 1), paint.Flat(paint.RGB(0x24452d)))
	still.Fill(paint.Bar(-1, fenceFoot, width+1, height+1, 0), paint.Falling(fenceFoot, paint.RGB(0x3f76ad), height, paint.RGB(0x2c5a8e)))
	white := paint.Falling(fenceFoot, paint.RGB(0xe3e8ec), height, paint.RGB(0xffffff))
	still.Fill(paint.Bar(-1, 190, width+1, 193, 0), white)
	still.Fill(paint.Bar(-1, 332, width+1, 339, 0), white)
	return func(atS float64) canvas {
		c := still.over()
		if x, y, visible := ballAt(atS); visible {
			high := (ballGround - ballRadius - y) / bounceRise
			c.Soft(paint.Ellipse(x, ballGround, ballRadius*(1-0.35*high), 6*(1-0.3*high)), 9, paint.Flat(paint.RGB(0x08182c).Faint(0.55-0.35*high)))
			c.TennisBall(x, y, ballRadius, 2.4*atS)
		}
		return c
	}
}

// ballAt returns the center of the ball, and whether a part of the ball is in the frame.
func ballAt(atS float64) (x, y float64, visible bool) {
	share := (atS - ballEnterS) / (ballLeaveS - ballEnterS)
	x = -ballRadius + (width+2*ballRadius)*share
	which, fall := math.Modf(share * bounces)
	high := bounceRise * math.Pow(0.82, which) * 4 * fall * (1 - fall)
	return x, ballGround - ballRadius - high, share > 0 && share < 1
}
