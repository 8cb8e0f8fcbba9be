package paint_test

import (
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/handlers/intake/demo/paint"
)

var red = paint.Flat(paint.RGB(0xff0000))

// TestShapesCoverTheirPoints: a point inside a shape is painted, a point outside is not.
func TestShapesCoverTheirPoints(t *testing.T) {
	t.Parallel()
	type points = [][2]int
	for name, tt := range map[string]struct {
		figure          paint.Shape
		within, without points
	}{
		"circle":  {paint.Circle(50, 50, 20), points{{50, 50}, {33, 50}, {50, 67}}, points{{28, 50}, {66, 66}}},
		"ellipse": {paint.Ellipse(50, 50, 40, 10), points{{13, 50}, {50, 58}}, points{{50, 63}, {15, 57}}},
		"bar":     {paint.Bar(20, 30, 80, 60, 0), points{{21, 31}, {78, 58}}, points{{17, 45}, {50, 63}}},
		"rounded": {paint.Bar(20, 30, 80, 60, 10), points{{50, 31}, {24, 34}}, points{{20, 30}, {79, 59}}},
		"line":    {paint.Line(paint.At(10, 10), paint.At(90, 90), 8), points{{50, 50}, {12, 10}}, points{{50, 60}, {95, 95}}},
		"outline": {paint.Outline(6, paint.At(10, 10), paint.At(90, 10), paint.At(90, 90)), points{{50, 10}, {90, 50}}, points{{50, 50}}},
		"triangle": {paint.Polygon(paint.At(10, 90), paint.At(50, 10), paint.At(90, 90)), points{{50, 20}, {20, 85}},
			points{{20, 40}, {80, 40}, {50, 95}}},
		"octagon": {paint.Regular(50, 50, 40, 8, 22.5), points{{50, 15}, {73, 73}}, points{{85, 85}, {50, 5}}},
		"union":   {paint.Union(paint.Circle(20, 50, 10), paint.Circle(80, 50, 10)), points{{20, 50}, {80, 50}}, points{{50, 50}}},
		"within":  {paint.Within(paint.Circle(50, 50, 30), paint.Bar(0, 0, 50, 100, 0)), points{{30, 50}}, points{{60, 50}, {10, 50}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := paint.New(100, 100)
			c.Fill(tt.figure, red)
			for _, p := range tt.within {
				require.Equal(t, color.RGBA{R: 255, A: 255}, c.RGBAAt(p[0], p[1]), "%v is inside", p)
			}
			for _, p := range tt.without {
				require.Zero(t, c.RGBAAt(p[0], p[1]).R, "%v is outside", p)
			}
		})
	}
}

// TestShapesAreCutOff: shapes may leave the picture on any side.
func TestShapesAreCutOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Float64Range(-300, 300)
		x, y := at.Draw(t, "x"), at.Draw(t, "y")
		c := paint.New(64, 48)
		c.StopSign(x, y, 30, y+60)
		c.TennisBall(x, y, 20, 1)
		c.Boat(x, y)
		c.Kite(x, y, 30, .3, 1, paint.RGB(0xff0000), paint.RGB(0x00ff00))
		for _, p := range [][2]float64{{x, y}} {
			if in := p[0] > 0 && p[0] < 64 && p[1] > 0 && p[1] < 48; in {
				require.EqualValues(t, 255, c.RGBAAt(int(p[0]), int(p[1])).A, "the center must be painted")
			}
		}
	})
}

func TestOverIsACopy(t *testing.T) {
	t.Parallel()
	ground := paint.New(10, 10)
	ground.Fill(paint.Bar(0, 0, 10, 10, 0), paint.Falling(0, paint.RGB(0x000000), 10, paint.RGB(0xffffff)))
	next := ground.Over()
	next.Fill(paint.Circle(5, 5, 4), red)
	require.Equal(t, color.RGBA{R: 255, A: 255}, next.RGBAAt(5, 5))
	require.EqualValues(t, ground.RGBAAt(5, 5).R, ground.RGBAAt(5, 5).G, "the original does not change")
	require.Greater(t, ground.RGBAAt(5, 9).R, ground.RGBAAt(5, 1).R)
}

func TestColorsCover(t *testing.T) {
	t.Parallel()
	c := paint.New(4, 4)
	all := paint.Bar(-2, -2, 6, 6, 0)
	c.Fill(all, paint.Flat(paint.RGB(0x204060)))
	require.Equal(t, color.RGBA{R: 0x20, G: 0x40, B: 0x60, A: 255}, c.RGBAAt(2, 2))
	c.Fill(all, paint.Flat(paint.RGB(0x000000).Faint(.5)))
	require.Equal(t, color.RGBA{R: 0x10, G: 0x20, B: 0x30, A: 255}, c.RGBAAt(2, 2))
	c.Fill(all, paint.Flat(paint.Mix(paint.RGB(0x000000), paint.RGB(0xffffff), .2)))
	require.Equal(t, color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 255}, c.RGBAAt(2, 2))
}
