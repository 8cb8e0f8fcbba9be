package paint

import "math"

// StopSign has its center at x, y. Its post ends at the height foot.
func (c Canvas) StopSign(x, y, r, foot float64) {
	c.Soft(Ellipse(x+16, foot, 26, 5), 8, Flat(RGB(0x000000).Faint(0.3)))
	c.Fill(Bar(x-3.5, y, x+3.5, foot, 1), Falling(y, RGB(0x9a9da1), foot+6, RGB(0x7d8084)))
	c.Fill(Regular(x, y, r, 8, 22.5), Flat(RGB(0xf3f3f3)))
	c.Fill(Regular(x, y, 0.93*r, 8, 22.5), Falling(y-r, RGB(0xcf2430), y+r, RGB(0xb01824)))
	word(c, "STOP", x, y, 0.50*r, 0.085*r, RGB(0xf6f6f6))
}

// TennisBall is turned by an angle in radians. The light comes from the upper left.
func (c Canvas) TennisBall(x, y, r, turn float64) {
	sin, cos := math.Sincos(turn)
	c.Fill(Circle(x, y, r), func(px, py float64) Tone {
		u, v := (px-x)/r, (py-y)/r
		a, b := u*cos+v*sin, v*cos-u*sin
		seam := min(math.Abs(math.Hypot(a-1.15, b)-0.85), math.Abs(math.Hypot(a+1.15, b)-0.85))
		felt := Mix(RGB(0xf6f8ee), RGB(0xc9dd3a), (seam-0.05)/0.05)
		towards := math.Sqrt(max(0, 1-u*u-v*v))
		return Mix(RGB(0x3c4210), felt, 0.42+0.6*max(0, 0.72*towards-0.42*u-0.55*v))
	})
}

// Boat is a sailing boat. The middle of its deck is at x, y.
func (c Canvas) Boat(x, y float64) {
	c.Soft(Ellipse(x, y+15, 40, 3), 4, Flat(RGB(0x1d4d66).Faint(0.4)))
	c.Fill(Polygon(At(x-34, y), At(x+38, y), At(x+25, y+14), At(x-26, y+14)), Falling(y, RGB(0xf4f1ea), y+14, RGB(0xb03a30)))
	c.Fill(Bar(x-1.5, y-68, x+1.5, y, 0), Flat(RGB(0x5a4634)))
	c.Fill(Polygon(At(x+4, y-64), At(x+4, y-5), At(x+37, y-5)), Flat(RGB(0xfdfcf8)))
	c.Fill(Polygon(At(x-4, y-56), At(x-4, y-5), At(x-29, y-5)), Flat(RGB(0xe9e4da)))
}

// Kite leans by an angle in radians. wave is the phase of its tail in radians. The width of
// the kite is 1.44 times size.
func (c Canvas) Kite(x, y, size, lean, wave float64, a, b Tone) {
	sin, cos := math.Sincos(lean)
	at := func(u, v float64) Point { return At(x+size*(u*cos-v*sin), y+size*(u*sin+v*cos)) }
	top, right, bottom, left, middle := at(0, -1), at(0.72, -0.25), at(0, 1.2), at(-0.72, -0.25), at(0, -0.25)
	var tail []Point
	for i := range 12 {
		s := float64(i) / 11
		tail = append(tail, at(0.35*s*math.Sin(s*9-wave), 1.2+0.9*s))
	}
	c.Fill(Outline(2.4, tail...), Flat(a))
	c.Fill(Union(Polygon(top, right, middle), Polygon(left, middle, bottom)), Flat(a))
	c.Fill(Union(Polygon(top, middle, left), Polygon(middle, right, bottom)), Flat(b))
	c.Fill(Union(Line(top, bottom, 1.6), Line(left, right, 1.6)), Flat(RGB(0x3a2a1a)))
}
