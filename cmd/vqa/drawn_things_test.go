package main_test

import (
	"math"

	"vqa/handlers/intake/demo/paint"
)

// Drawn things that the detector recognizes with a score far above its threshold. It does not
// recognize drawn cars, apples, donuts, hydrants, birds or people.

// clockOf draws a wall clock with radius r.
func clockOf(r float64) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, atS float64) {
		c.Soft(paint.Circle(x+4, y+5, r), 10, paint.Flat(paint.RGB(0).Faint(.3)))
		c.Fill(paint.Circle(x, y, r), paint.Flat(paint.RGB(0x2b2b2e)))
		c.Fill(paint.Circle(x, y, .88*r), paint.Flat(paint.RGB(0xf7f5ee)))
		hand := func(turn, from, to, width float64) {
			sin, cos := math.Sincos(2 * math.Pi * turn)
			c.Fill(paint.Line(paint.At(x+from*r*sin, y-from*r*cos), paint.At(x+to*r*sin, y-to*r*cos), width), paint.Flat(paint.RGB(0x1e1e1e)))
		}
		for minute := range 60 {
			if minute%5 == 0 {
				hand(float64(minute)/60, .72, .84, 3)
			} else {
				hand(float64(minute)/60, .80, .84, 1)
			}
		}
		hand(.84, -.1, .45, 5)
		hand(.14+atS/60, -.1, .68, 3.5)
		c.Fill(paint.Circle(x, y, .06*r), paint.Flat(paint.RGB(0xb02020)))
	}
}

// frisbeeOf draws a flying frisbee.
func frisbeeOf(r float64, light, dark uint32) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, _ float64) {
		top, shade := paint.RGB(light), paint.RGB(dark)
		c.Fill(paint.Ellipse(x, y, r, .32*r), paint.Falling(y-.3*r, top, y+.3*r, shade))
		inner := paint.Mix(top, paint.RGB(0xffffff), .2)
		c.Fill(paint.Ellipse(x, y-.05*r, .72*r, .18*r), paint.Falling(y-.2*r, inner, y+.15*r, paint.Mix(top, shade, .5)))
	}
}

// laptopOf draws an open laptop; w is the width of its screen.
func laptopOf(w float64) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, _ float64) {
		c.Fill(paint.Bar(x-.5*w, y-.6*w, x+.5*w, y+.03*w, 5), paint.Flat(paint.RGB(0x2a2b2e)))
		c.Fill(paint.Bar(x-.46*w, y-.56*w, x+.46*w, y-.02*w, 0), paint.Falling(y-.56*w, paint.RGB(0x4aa3df), y, paint.RGB(0xdcebf5)))
		c.Fill(paint.Polygon(paint.At(x-.5*w, y+.03*w), paint.At(x+.5*w, y+.03*w), paint.At(x+.64*w, y+.24*w), paint.At(x-.64*w, y+.24*w)),
			paint.Flat(paint.RGB(0xb5b8bc)))
		c.Fill(paint.Polygon(paint.At(x-.44*w, y+.05*w), paint.At(x+.44*w, y+.05*w), paint.At(x+.52*w, y+.15*w), paint.At(x-.52*w, y+.15*w)),
			paint.Flat(paint.RGB(0x333538)))
		for row := range 4 {
			for key := range 13 {
				left, top := x-.44*w+.068*w*float64(key)-3*float64(row), y+.056*w+.024*w*float64(row)
				c.Fill(paint.Bar(left, top, left+.055*w, top+.018*w, 0), paint.Flat(paint.RGB(0x5a5d62)))
			}
		}
		c.Fill(paint.Bar(x-.12*w, y+.165*w, x+.12*w, y+.22*w, 1), paint.Flat(paint.RGB(0x9a9da1)))
	}
}

// vaseOf draws a vase with flowers.
func vaseOf(r float64) func(c paint.Canvas, x, y, atS float64) {
	petals := [...]uint32{0xe8433c, 0xf2c230, 0xf08ab5, 0xffffff}
	return func(c paint.Canvas, x, y, _ float64) {
		for i, lean := range [...]float64{-.5, -.2, .15, .5} {
			fx, fy := x+lean*r, y-1.75*r-5*float64(i%2)
			c.Fill(paint.Line(paint.At(x, y-.7*r), paint.At(fx, fy), 3), paint.Flat(paint.RGB(0x3f7a2c)))
			for k := range 6 {
				sin, cos := math.Sincos(float64(k) * math.Pi / 3)
				c.Fill(paint.Circle(fx+9*cos, fy+9*sin, 6), paint.Flat(paint.RGB(petals[i])))
			}
			c.Fill(paint.Circle(fx, fy, 5), paint.Flat(paint.RGB(0x8a5a10)))
		}
		glaze := func(px, _ float64) paint.Tone {
			return paint.Mix(paint.RGB(0x2a4fa0), paint.RGB(0xffffff), max(0, .6-math.Abs((px-x+.3*r)/(.5*r))))
		}
		c.Fill(paint.Union(paint.Ellipse(x, y+.2*r, .6*r, .75*r), paint.Bar(x-.25*r, y-.8*r, x+.25*r, y, 4)), glaze)
		c.Fill(paint.Ellipse(x, y-.8*r, .32*r, .08*r), paint.Flat(paint.RGB(0x1c356f)))
	}
}

// airplaneOf draws an airplane that flies to the right; w is its length.
func airplaneOf(w float64) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, _ float64) {
		figure := func(hex uint32, corners ...[2]float64) {
			points := make([]paint.Point, len(corners))
			for i, p := range corners {
				points[i] = paint.At(x+p[0]*w, y+p[1]*w)
			}
			c.Fill(paint.Polygon(points...), paint.Flat(paint.RGB(hex)))
		}
		figure(0x2c5aa0, [2]float64{-.5, -.02}, [2]float64{-.42, -.22}, [2]float64{-.34, -.22}, [2]float64{-.3, -.02})
		body := paint.Union(paint.Ellipse(x, y, .5*w, .07*w), paint.Bar(x-.4*w, y-.05*w, x+.3*w, y+.06*w, .04*w))
		c.Fill(body, paint.Falling(y-.1*w, paint.RGB(0xf5f7fa), y+.1*w, paint.RGB(0xa9b2bc)))
		figure(0x98a3ae, [2]float64{.08, .02}, [2]float64{-.08, .02}, [2]float64{-.26, .24}, [2]float64{-.2, .24})
		figure(0xb5bec8, [2]float64{.06, -.04}, [2]float64{-.04, -.04}, [2]float64{-.14, -.16}, [2]float64{-.1, -.16})
		for i := range 12 {
			c.Fill(paint.Circle(x-.3*w+.055*w*float64(i), y-.015*w, .01*w), paint.Flat(paint.RGB(0x33414d)))
		}
	}
}

// trafficLightOf draws a red traffic light; h is the height of its box.
func trafficLightOf(h float64) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, _ float64) {
		w := .38 * h
		c.Fill(paint.Bar(x-4, y+h/2-2, x+4, 300, 1), paint.Flat(paint.RGB(0x55585c)))
		c.Fill(paint.Bar(x-w/2, y-h/2, x+w/2, y+h/2, 6), paint.Flat(paint.RGB(0x1d1f20)))
		for i, lamp := range [...]uint32{0xff3524, 0x4a3a10, 0x0d3a1a} {
			ly := y + .31*h*float64(i-1)
			c.Fill(paint.Circle(x, ly, .125*h), paint.Flat(paint.RGB(lamp)))
			hood := paint.Outline(2, paint.At(x-.42*w, ly-.08*h), paint.At(x-.2*w, ly-.15*h), paint.At(x+.2*w, ly-.15*h), paint.At(x+.42*w, ly-.08*h))
			c.Fill(hood, paint.Flat(paint.RGB(0x0b0c0c)))
		}
		c.Soft(paint.Circle(x, y-.31*h, .1*h), 8, paint.Flat(paint.RGB(0xff9a80).Faint(.7)))
	}
}

// busOf draws a bus that drives to the right; w is its length.
func busOf(w float64, color uint32) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, _ float64) {
		h, coat := .42*w, paint.RGB(color)
		c.Soft(paint.Ellipse(x, y+.62*h, .5*w, 8), 8, paint.Flat(paint.RGB(0).Faint(.4)))
		c.Fill(paint.Bar(x-w/2, y-h/2, x+w/2, y+h/2, 10), paint.Falling(y-h/2, coat, y+h/2, paint.Mix(coat, paint.RGB(0), .25)))
		for i := range 5 {
			left := x - .45*w + .165*w*float64(i)
			c.Fill(paint.Bar(left, y-.36*h, left+.14*w, y-.02*h, 3), paint.Falling(y-.36*h, paint.RGB(0x3b4a55), y, paint.RGB(0x7f99a8)))
		}
		c.Fill(paint.Bar(x+.39*w, y-.36*h, x+.485*w, y+.08*h, 3), paint.Flat(paint.RGB(0x8fb0c2)))
		c.Fill(paint.Bar(x-w/2, y+.1*h, x+w/2, y+.15*h, 0), paint.Flat(paint.RGB(0x222222)))
		for _, axle := range [...]float64{-.3, .3} {
			c.Fill(paint.Circle(x+axle*w, y+.5*h, .19*h), paint.Flat(paint.RGB(0x1a1a1a)))
			c.Fill(paint.Circle(x+axle*w, y+.5*h, .09*h), paint.Flat(paint.RGB(0xb5b5b5)))
		}
		c.Fill(paint.Circle(x+.47*w, y+.3*h, 5), paint.Flat(paint.RGB(0xfff2b0)))
	}
}

// meadow draws grass below a sky.
func meadow() paint.Canvas { return ground(240, 0x6fa8dc, 0xdcebf5, 0x7fa565, 0x5d8a48) }

// hills draws hills and bushes that move to the left, because the camera turns. The speed is in
// pixels per second.
func hills(speed float64) func(c paint.Canvas, atS float64) {
	greens := [...]uint32{0x3f6b35, 0x55804a, 0x2f5530, 0x7a9a58}
	return func(c paint.Canvas, atS float64) {
		for i := range 16 {
			k := float64(i)
			x, width := 75*k-40-speed*atS, 34+12*float64(i*5%7)
			c.Fill(paint.Ellipse(x, 242, width, 18+9*float64(i*3%5)), paint.Flat(paint.RGB(greens[i%len(greens)])))
			c.Fill(paint.Ellipse(x+20, 320+5*float64(i*7%6), width/2, 6+2*float64(i%3)), paint.Flat(paint.RGB(greens[(i+2)%len(greens)])))
		}
	}
}

// room draws a wall above a floor.
func room() paint.Canvas { return ground(250, 0xe9e2d2, 0xdcd2bd, 0x9b7350, 0x7d5a3c) }

func ground(horizon float64, top, middle, near, bottom uint32) paint.Canvas {
	c := paint.New(Width, Height)
	c.Fill(paint.Bar(-1, -1, Width+1, horizon+1, 0), paint.Falling(0, paint.RGB(top), horizon, paint.RGB(middle)))
	c.Fill(paint.Bar(-1, horizon, Width+1, Height+1, 0), paint.Falling(horizon, paint.RGB(near), Height, paint.RGB(bottom)))
	return c
}
