package answer

import (
	"math"

	"vqa/domain/evidence"
)

const (
	// sweep is how far between two samples what stands is looked for, in pairs of cells: a
	// camera that turns faster blurs what it shows.
	sweep = 6
	// outlier bounds what a cell adds to a mismatch, in shades: what moves by itself must
	// not outweigh what stands.
	outlier = 6
	// common is the least share of the cells that must show what stands in both samples.
	common = .25
	// unlike is the mismatch of the best place, by that of the best elsewhere, from which
	// the place is not known.
	unlike = .85
	// tremble is the shift under which it is that of the noise, in cells.
	tremble = .15
	// adrift is the mismatch in place from which a camera whose way is not known has moved: in
	// front of a camera that stands it is less than 1, whatever moves there.
	adrift = 1.2
)

// scape is the brightness of what stands in a picture, in cells of a square grid, row by
// row; covered where something that may move is before it.
type scape struct {
	side  int
	cells []int
}

const covered = -1

// scapeOf is what a sample shows beside its objects, ok if its brightness is known.
func scapeOf(s sighting, keep float64) (scape, bool) {
	if len(s.shades) != evidence.Cells*evidence.Cells {
		return scape{}, false
	}
	out := scape{evidence.Cells, make([]int, evidence.Cells*evidence.Cells)}
	for i, shade := range s.shades {
		out.cells[i] = int(shade)
	}
	for _, o := range s.objects {
		if o.Score >= keep {
			out.cover(o.Box.InFrame())
		}
	}
	for _, d := range s.others {
		if d.Score >= keep {
			out.cover(d.Box.InFrame())
		}
	}
	return out, true
}

// cover hides the cells that a box within the frame touches.
func (s scape) cover(b evidence.Box) {
	end := func(x float64) int { return min(int(math.Ceil(x*float64(s.side))), s.side) }
	for y := int(b.Y1 * float64(s.side)); y < end(b.Y2); y++ {
		for x := int(b.X1 * float64(s.side)); x < end(b.X2); x++ {
			s.cells[y*s.side+x] = covered
		}
	}
}

// halved sums up the cells by two and two.
func (s scape) halved() scape {
	half := scape{s.side / 2, make([]int, s.side*s.side/4)}
	for i := range half.cells {
		at := i/half.side*2*s.side + i%half.side*2
		for _, cell := range [...]int{s.cells[at], s.cells[at+1], s.cells[at+s.side], s.cells[at+s.side+1]} {
			if cell == covered {
				half.cells[i] = covered
				break
			}
			half.cells[i] += cell
		}
	}
	return half
}

// mismatch is the mean difference of what two pictures both show if what stands has moved
// by some cells from a to b, at most bound; infinite when they share too little.
func mismatch(a, b scape, dx, dy, bound int) float64 {
	n, sum := 0, 0
	left, right := max(0, dx), min(a.side, a.side+dx)
	for y := max(0, dy); y < min(a.side, a.side+dy); y++ {
		before := a.cells[(y-dy)*a.side+left-dx:]
		for x, now := range b.cells[y*a.side+left : y*a.side+max(left, right)] {
			if was := before[x]; now != covered && was != covered {
				n, sum = n+1, sum+min(max(now-was, was-now), bound)
			}
		}
	}
	if float64(n) < common*float64(a.side*a.side) {
		return math.Inf(1)
	}
	return float64(sum) / float64(n)
}

// shift is how far what stands has moved in the picture from a to b, in widths and heights
// of the frame; ok is false when that cannot be told.
func shift(a, b scape) (x, y float64, ok bool) {
	type place struct{ x, y int }
	halfA, halfB := a.halved(), b.halved()
	rough, least := map[place]float64{{}: mismatch(halfA, halfB, 0, 0, 4*outlier)}, place{}
	for dy := -sweep; dy <= sweep; dy++ {
		for dx := -sweep; dx <= sweep; dx++ {
			p := place{dx, dy}
			if rough[p] = mismatch(halfA, halfB, dx, dy, 4*outlier); rough[p] < rough[least] {
				least = p
			}
		}
	}
	elsewhere := math.Inf(1)
	for p, m := range rough {
		if max(p.x-least.x, least.x-p.x, p.y-least.y, least.y-p.y) > 1 {
			elsewhere = min(elsewhere, m)
		}
	}
	if !(rough[least] < unlike*elsewhere) {
		return 0, 0, false
	}
	at := func(dx, dy int) float64 { return mismatch(a, b, dx, dy, outlier) }
	best, most := place{}, math.Inf(1)
	for dy := 2*least.y - 2; dy <= 2*least.y+2; dy++ {
		for dx := 2*least.x - 2; dx <= 2*least.x+2; dx++ {
			if m := at(dx, dy); m < most {
				best, most = place{dx, dy}, m
			}
		}
	}
	x = float64(best.x) + vertex(at(best.x-1, best.y), most, at(best.x+1, best.y))
	y = float64(best.y) + vertex(at(best.x, best.y-1), most, at(best.x, best.y+1))
	if math.Hypot(x, y) < tremble {
		return 0, 0, true
	}
	return x / evidence.Cells, y / evidence.Cells, true
}

// vertex is where between its neighbours a parabola through three values is least, -.5
// to .5 from the middle one, which is the least of them.
func vertex(before, least, after float64) float64 {
	bend := before - 2*least + after
	if !(bend > 0) || math.IsInf(bend, 0) {
		return 0
	}
	return min(max((before-after)/2/bend, -.5), .5)
}

// camera is what is known of how the camera moves.
type camera struct {
	// x and y are how far what stands has moved in the picture since the first one.
	x, y float64
	// stretch counts the ways that are not known.
	stretch int
	// last is what the sample before showed, at atS, if known.
	last  scape
	atS   float64
	known bool
}

// steady tells where the objects of the next sample are in the scene: where the first
// picture would show them if it were large enough. Where it cannot be told how the camera
// moves, it is taken to stand, or a new stretch begins if it does not.
func (c *camera) steady(s sighting, keep, withinS float64) {
	now, ok := scapeOf(s, keep)
	if ok && c.known && s.at-c.atS <= withinS {
		dx, dy, told := shift(c.last, now)
		c.x, c.y = c.x+dx, c.y+dy
		if still := mismatch(c.last, now, 0, 0, outlier); !told && still > adrift && !math.IsInf(still, 1) {
			c.stretch++
		}
	}
	c.last, c.atS, c.known = now, s.at, ok
	for k := range s.objects {
		o := &s.objects[k]
		o.scene, o.stretch = evidence.Box{X1: o.Box.X1 - c.x, Y1: o.Box.Y1 - c.y, X2: o.Box.X2 - c.x, Y2: o.Box.Y2 - c.y}, c.stretch
	}
}
