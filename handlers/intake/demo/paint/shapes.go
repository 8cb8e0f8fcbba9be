package paint

import "math"

// Shape is a figure: its bounding box, and a function that returns the distance of a point
// from its edge in pixels. The distance is negative inside.
type Shape struct {
	left, top, right, bottom float64
	distance                 func(x, y float64) float64
}

// boxDistance is a lower bound of the distance, from the bounding box. It is 0 inside the box.
func (s Shape) boxDistance(x, y float64) float64 {
	return max(s.left-x, x-s.right, s.top-y, y-s.bottom, 0)
}

// Point is a point in pixels from the upper left corner of the picture.
type Point struct{ x, y float64 }

// At returns a point.
func At(x, y float64) Point { return Point{x, y} }

// Circle has its center at x, y and the radius r.
func Circle(x, y, r float64) Shape { return Ellipse(x, y, r, r) }

// Ellipse has the half-axes rx and ry. The distance is exact for a circle, and close enough
// near the edge of any other ellipse.
func Ellipse(x, y, rx, ry float64) Shape {
	return Shape{x - rx, y - ry, x + rx, y + ry, func(px, py float64) float64 {
		u, v := (px-x)/rx, (py-y)/ry
		k := math.Sqrt(u*u + v*v)
		if k < 1e-9 {
			return -min(rx, ry)
		}
		return (k - 1) * k / math.Sqrt(u*u/(rx*rx)+v*v/(ry*ry))
	}}
}

// Bar is a box with round corners. corner is their radius.
func Bar(left, top, right, bottom, corner float64) Shape {
	cx, cy, hw, hh := (left+right)/2, (top+bottom)/2, (right-left)/2-corner, (bottom-top)/2-corner
	return Shape{left, top, right, bottom, func(x, y float64) float64 {
		dx, dy := math.Abs(x-cx)-hw, math.Abs(y-cy)-hh
		return math.Hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - corner
	}}
}

// Line is a stroke with round ends.
func Line(a, b Point, width float64) Shape {
	r := width / 2
	dx, dy := b.x-a.x, b.y-a.y
	long := dx*dx + dy*dy
	return Shape{min(a.x, b.x) - r, min(a.y, b.y) - r, max(a.x, b.x) + r, max(a.y, b.y) + r, func(x, y float64) float64 {
		along := 0.0
		if long > 0 {
			along = min(max(((x-a.x)*dx+(y-a.y)*dy)/long, 0), 1)
		}
		u, v := x-a.x-along*dx, y-a.y-along*dy
		return math.Sqrt(u*u+v*v) - r
	}}
}

// Outline is a stroke from point to point.
func Outline(width float64, points ...Point) Shape {
	all := make([]Shape, 0, len(points)-1)
	for i := range len(points) - 1 {
		all = append(all, Line(points[i], points[i+1], width))
	}
	return Union(all...)
}

// Polygon is a convex polygon. Its corners are given in order.
func Polygon(corners ...Point) Shape {
	s := Shape{left: math.Inf(1), top: math.Inf(1), right: math.Inf(-1), bottom: math.Inf(-1)}
	for _, p := range corners {
		s.left, s.top, s.right, s.bottom = min(s.left, p.x), min(s.top, p.y), max(s.right, p.x), max(s.bottom, p.y)
	}
	type edge struct{ x, y, away float64 } // a point p lies x*p.x + y*p.y - away outside
	edges := make([]edge, len(corners))
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		long := math.Sqrt((b.x-a.x)*(b.x-a.x) + (b.y-a.y)*(b.y-a.y))
		e := edge{x: (b.y - a.y) / long, y: (a.x - b.x) / long}
		e.away = e.x*a.x + e.y*a.y
		if within := corners[(i+2)%len(corners)]; e.x*within.x+e.y*within.y > e.away {
			e = edge{-e.x, -e.y, -e.away}
		}
		edges[i] = e
	}
	s.distance = func(x, y float64) float64 {
		d := math.Inf(-1)
		for _, e := range edges {
			d = max(d, e.x*x+e.y*y-e.away)
		}
		return d
	}
	return s
}

// Regular is a polygon with n equal sides. One corner lies at the angle, in degrees.
func Regular(x, y, r float64, n int, angle float64) Shape {
	corners := make([]Point, n)
	for i := range corners {
		a := (angle + 360*float64(i)/float64(n)) * math.Pi / 180
		corners[i] = Point{x + r*math.Cos(a), y + r*math.Sin(a)}
	}
	return Polygon(corners...)
}

// Union covers every point that one of the shapes covers.
func Union(all ...Shape) Shape {
	s := all[0]
	for _, o := range all[1:] {
		s.left, s.top, s.right, s.bottom = min(s.left, o.left), min(s.top, o.top), max(s.right, o.right), max(s.bottom, o.bottom)
	}
	s.distance = func(x, y float64) float64 {
		d := math.Inf(1)
		for _, o := range all {
			if away := o.boxDistance(x, y); away == 0 || away < d {
				d = min(d, o.distance(x, y))
			}
		}
		return d
	}
	return s
}

// Within is the intersection of two shapes.
func Within(a, b Shape) Shape {
	return Shape{max(a.left, b.left), max(a.top, b.top), min(a.right, b.right), min(a.bottom, b.bottom), func(x, y float64) float64 {
		return max(a.distance(x, y), b.distance(x, y))
	}}
}
