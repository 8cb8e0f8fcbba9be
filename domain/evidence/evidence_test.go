package evidence_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
)

func TestBoxes(t *testing.T) {
	t.Parallel()
	left, right := evidence.Box{X2: .5, Y2: 1}, evidence.Box{X1: .25, X2: .75, Y2: 1}
	require.InDelta(t, .5, evidence.Area(left), 1e-9)
	require.InDelta(t, 1./3, evidence.IoU(left, right), 1e-9)
	require.InDelta(t, .5, evidence.ShareInside(left, right), 1e-9)
	require.Zero(t, evidence.IoU(left, evidence.Box{X1: .5, X2: 1, Y2: 1}), "boxes that only touch")
	require.Zero(t, evidence.IoU(evidence.Box{}, evidence.Box{}), "boxes without an area")
	require.True(t, left.Touches(evidence.Left))
	require.False(t, left.Touches(evidence.Right))
	outside := evidence.Box{X1: -1, Y1: math.NaN(), X2: 2, Y2: .5}
	require.Equal(t, evidence.Box{X2: 1, Y2: .5}, outside.InFrame())
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	ev := evidence.Evidence{Frames: []evidence.Frame{{At: 1}, {At: math.NaN()}, {At: .5}, {At: 1}, {At: -1}, {At: math.Inf(1)}}}
	ev.Fine = []evidence.Frame{{At: .75}, {At: .5}}
	require.Empty(t, cmp.Diff([]evidence.Frame{{At: .5}, {At: .75}, {At: 1}}, ev.Timeline()))
	require.InDelta(t, 16./9, ev.AspectRatio(), 1e-9)
	require.InDelta(t, 1, evidence.Evidence{Aspect: 1}.AspectRatio(), 1e-9)
}

func newLinker() *evidence.Linker {
	return &evidence.Linker{Aspect: 1, GapS: 1.2, Overlap: .1, Distance: 1.2}
}

func object(x float64) evidence.Box { return evidence.Box{X1: x, Y1: .4, X2: x + .1, Y2: .6} }

func TestLinkFollowsAnObject(t *testing.T) {
	t.Parallel()
	l := newLinker()
	require.Equal(t, []int{0, 1}, l.Link(0, []evidence.Box{object(.1), object(.6)}))
	require.Equal(t, []int{1, 0}, l.Link(.5, []evidence.Box{object(.62), object(.12)}))
	require.Equal(t, []int{1}, l.Link(1, []evidence.Box{object(.64)}))
	require.Equal(t, []int{0, 2}, l.Link(1.5, []evidence.Box{object(.14), object(.02)}), "one sample may miss the dog")
	require.Equal(t, []int{3}, l.Link(9, []evidence.Box{object(.14)}), "after a longer gap it is a new object")
	l.Cut()
	require.Equal(t, []int{4}, l.Link(9.5, []evidence.Box{object(.14)}), "no track crosses a cut")
}

func TestLinkExpectsAMovingObject(t *testing.T) {
	t.Parallel()
	l := newLinker()
	for i := range 4 { // two objects pass each other
		x := .15 * float64(i)
		require.Equal(t, []int{0, 1}, l.Link(float64(i)/2, []evidence.Box{object(.1 + x), object(.75 - x)}), "sample %d", i)
	}
}

// TestLinkEndsWhatLeaves: an object that walks out of the picture and comes back has two tracks. One that
// waits at the side keeps its track when a sample misses it.
func TestLinkEndsWhatLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step, picture float64 // how far it moves in a sample, and the left side of the picture
		want          int
	}{{.15, 0, 1}, {0, 0, 0}, {.15, .5, 0}} {
		l := newLinker()
		l.GoneS, l.Picture = .75, evidence.Box{X1: c.picture, X2: c.picture + 1, Y2: 1}
		for i := range 3 {
			require.Equal(t, []int{0}, l.Link(float64(i)/2, []evidence.Box{object(.88 + c.step*float64(i-2))}))
		}
		require.Empty(t, l.Link(1.5, nil))
		require.Equal(t, []int{c.want}, l.Link(2, []evidence.Box{object(.88)}), "%v", c)
	}
}

// pictureAt is a background with marks of many sizes, seen by a camera that has turned by x
// widths of the frame.
func pictureAt(x float64) []byte {
	shades := make([]byte, evidence.Cells*evidence.Cells)
	for i := range shades {
		u, v := x+float64(i%evidence.Cells)/evidence.Cells, float64(i/evidence.Cells)/evidence.Cells
		shades[i] = byte(15 + 6*math.Sin(9*u+4*v) + 5*math.Sin(23*u-17*v) + 3*math.Sin(41*v+8*u))
	}
	return shades
}

func TestCamera(t *testing.T) {
	t.Parallel()
	var c evidence.Camera
	var v evidence.View
	for i := range 5 {
		turned := .1 * float64(i)
		v = c.Next(float64(i)/2, pictureAt(turned), []evidence.Box{object(.8 - turned)}, 1)
	}
	require.InDelta(t, .8, v.In(object(.4)).X1, .02, "an object that stands")
	require.Zero(t, v.Segment)
	require.False(t, v.Cut)
	v = c.Next(2.5, pictureAt(7.7), nil, 1)
	require.Equal(t, 1, v.Segment, "an unknown movement starts a new segment")
	dark := make([]byte, evidence.Cells*evidence.Cells)
	require.True(t, c.Next(3, dark, nil, 1).Cut, "another picture")
	require.False(t, c.Next(3.5, dark, nil, 1).Cut)
	require.False(t, c.Next(9, pictureAt(0), nil, 1).Cut, "frames that are far apart are not compared")
}

// TestACutIsAnotherPicture: the light goes out, and something large comes near, without a cut.
func TestACutIsAnotherPicture(t *testing.T) {
	t.Parallel()
	changed := func(change func(i int, shade byte) byte) []byte {
		out := pictureAt(0)
		for i := range out {
			out[i] = change(i, out[i])
		}
		return out
	}
	for name, tt := range map[string]struct {
		next []byte
		cut  bool
	}{
		"half as bright": {changed(func(_ int, s byte) byte { return s / 2 }), false},
		"large object": {changed(func(i int, s byte) byte {
			if i%evidence.Cells < evidence.Cells/2 {
				return 15
			}
			return s/3 + 8
		}), false},
		"another place": {pictureAt(70), true},
		"dark":          {make([]byte, evidence.Cells*evidence.Cells), true},
	} {
		var c evidence.Camera
		c.Next(0, pictureAt(0), nil, 1)
		require.Equal(t, tt.cut, c.Next(.5, tt.next, nil, 1).Cut, name)
	}
}
