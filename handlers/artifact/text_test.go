package artifact

import (
	"image"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLetteringFits(t *testing.T) {
	t.Parallel()
	l, err := newLettering(true, 14)
	require.NoError(t, err)
	text := strings.Repeat("a dog near a car ", 20)
	lines := l.wrap(text, 300)
	require.Len(t, lines, 2)
	for _, line := range append(lines, l.fit(strings.Repeat("x", 500), 300)) {
		require.LessOrEqual(t, l.width(line), 300)
		require.Greater(t, l.width(line), 200)
	}
	require.True(t, strings.HasSuffix(lines[1], "…"))
	require.Equal(t, []string{"Is there a dog?"}, l.wrap(" Is  there a dog?", 300))
	require.Equal(t, []string{""}, l.wrap("", 300))
}

func TestClock(t *testing.T) {
	t.Parallel()
	for s, want := range map[float64]string{-1: "0:00", 0: "0:00", 7.9: "0:07", 61: "1:01", 3599: "59:59", 3661: "1:01:01", 14400: "4:00:00"} {
		require.Equal(t, want, clock(s))
	}
	for s, want := range map[float64]string{-1: "0:00.0", 2.938: "0:02.9", 8.063: "0:08.1", 59.96: "1:00.0", 3661.5: "1:01:01.5"} {
		require.Equal(t, want, clockTenths(s))
	}
}

func TestCanvasPaints(t *testing.T) {
	t.Parallel()
	c := newCanvas(32, 16)
	c.fill(c.bounds(), inkOf(0x102030), opaque)
	c.fill(image.Rect(8, 4, 40, 8), inkOf(0x34d399), opaque) // beyond the edge
	for y := range c.height {
		for x := range c.width {
			want := inkOf(0x102030)
			if image.Pt(x, y).In(image.Rect(8, 4, 32, 8)) {
				want = inkOf(0x34d399)
			}
			half := y/2*c.width/2 + x/2
			require.Equal(t, want, ink{c.y[y*c.width+x], c.u[half], c.v[half]}, "%d,%d", x, y)
		}
	}
	c.stamp(roundRect(8, 8, 4), image.Pt(28, 12), bright)
	require.Equal(t, inkOf(0x102030).y, c.y[12*32+28], "a corner is round")
	require.Equal(t, bright.y, c.y[15*32+31])
}

func TestColorsComeBack(t *testing.T) {
	t.Parallel()
	for _, hex := range []uint32{0x000000, 0xffffff, 0x34d399, 0xfbbf24, 0x38bdf8, 0xff0000, 0x0000ff} {
		got := inkOf(hex).rgb()
		for i, part := range []uint8{got.R, got.G, got.B} {
			require.InDelta(t, hex>>(16-8*i)&0xff, part, 3, "%06x", hex)
		}
	}
}

// TestLabelsDoNotHideEachOther puts four labels at one place.
func TestLabelsDoNotHideEachOther(t *testing.T) {
	t.Parallel()
	s, err := styleOf(640)
	require.NoError(t, err)
	area := image.Rect(0, 0, 640, 360)
	size := s.chipSize("dog 90%")
	border := image.Rect(100, 100, 300, 300)
	var taken []image.Rectangle
	for range 4 {
		at := s.labelAt(area, border, size, taken)
		r := image.Rectangle{at, at.Add(size)}
		require.True(t, r.In(area))
		for _, other := range taken {
			require.False(t, r.Overlaps(other))
		}
		taken = append(taken, r)
	}
	at := s.labelAt(area, image.Rect(620, 0, 640, 20), size, nil)
	require.True(t, image.Rectangle{at, at.Add(size)}.In(area), "a label at the edge is moved inside")
}
