package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWindow(t *testing.T) {
	t.Parallel()
	cases := map[string][2]float64{
		"first 10 s": {0, 10}, "first 2.5 s": {0, 2.5}, "last 5 s": {25, 30}, "first 90 s": {0, 30}, "last 90 s": {0, 30},
		"5 to 12 s": {5, 12}, "0:05 to 0:12": {5, 12}, "after 7 s": {7, 30}, "after 0:07": {7, 30}, "before 7 s": {0, 7},
		"at 7 s": {6, 8}, "at 0 s": {0, 1}, "beginning": {0, 6}, "middle": {10, 20}, "end": {24, 30},
		"first half": {0, 15}, "second half": {15, 30}, "after 90 s": {30, 30},
	}
	for value, want := range cases {
		w, ok := Condition{Kind: KindTime, Value: value}.Window()
		require.True(t, ok, value)
		from, to := w.Within(30)
		require.InDeltaSlice(t, want[:], []float64{from, to}, 1e-9, value)
	}
	for _, value := range []string{"", "sunset", "12 to 5 s", "first s", "first -3 s", "first NaN s", "at noon", "until 5 s", "x:05 to 0:09", "first Inf s"} {
		_, ok := Condition{Kind: KindTime, Value: value}.Window()
		require.False(t, ok, value)
	}
	_, ok := Condition{Kind: KindState, Value: "end"}.Window()
	require.False(t, ok, "only time conditions have a window")
}

func TestWindowLiesWithinTheVideo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`(first|last|after|before|at) [0-9]{1,3}(\.[0-9])? s|[0-9]{1,2} to [0-9]{1,2} s|end|middle`).Draw(t, "value")
		w, ok := Condition{Kind: KindTime, Value: value}.Window()
		if !ok {
			return
		}
		duration := rapid.Float64Range(0, 200).Draw(t, "duration")
		from, to := w.Within(duration)
		require.LessOrEqual(t, 0.0, from)
		require.LessOrEqual(t, from, to)
		require.LessOrEqual(t, to, duration)
	})
}

func TestColorsOfAnAttribute(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"red": {"red"}, "dark blue": {"blue"}, "light green": {"green"}, "black and white": {"black", "white"},
		"red and dark blue": {"red", "blue"}, "fluffy": nil, "turquoise": nil, "wearing red": nil, "red and fluffy": nil, "": nil,
	}
	for value, want := range cases {
		got, ok := Condition{Kind: KindAttribute, Value: value}.Colors()
		require.Equal(t, want != nil, ok, value)
		require.Empty(t, cmp.Diff(want, got), value)
	}
}

func TestColorsOfClothing(t *testing.T) {
	t.Parallel()
	type clothes struct {
		Colors []string
		On     BodyPart
	}
	cases := map[string]clothes{
		"wearing red": {[]string{"red"}, WholeBody}, "wearing red shirt": {[]string{"red"}, UpperBody},
		"wearing black and white dress": {[]string{"black", "white"}, WholeBody},
		"wearing dark blue jacket":      {[]string{"blue"}, UpperBody}, "wearing red trousers": {[]string{"red"}, LowerBody},
		"wearing light blue jeans": {[]string{"blue"}, LowerBody},
		"wearing shirt":            {}, "wearing red hat": {}, "red shirt": {}, "wearing": {}, "wearing ": {}, "red": {},
	}
	for value, want := range cases {
		colors, on, ok := Condition{Kind: KindAttribute, Value: value}.Worn()
		require.Equal(t, want.Colors != nil, ok, value)
		if ok {
			require.Empty(t, cmp.Diff(want, clothes{colors, on}), value)
		}
	}
	_, _, ok := Condition{Kind: KindState, Value: "wearing red"}.Worn()
	require.False(t, ok, "only attributes have clothing")
}

func TestSizeOfAnAttribute(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"big": true, "small": true, "huge": false, "": false} {
		size, ok := Condition{Kind: KindAttribute, Value: value}.Size()
		require.Equal(t, want, ok, value)
		require.Equal(t, Size(value), size)
	}
	_, ok := Condition{Kind: KindState, Value: "big"}.Size()
	require.False(t, ok)
}

func TestOccurrence(t *testing.T) {
	t.Parallel()
	type occurrence struct {
		Kind Occurrence
		Side string
		OK   bool
	}
	for value, want := range map[string]occurrence{
		"jumping":              {Jumping, "", true},
		"falling":              {Falling, "", true},
		"entering":             {Entering, "", true},
		"entering room":        {Entering, "", true},
		"entering from left":   {Entering, "left", true},
		"leaving toward right": {Leaving, "right", true},
		"leaving from top":     {Leaving, "top", true},
		"jumping rope":         {OK: false},
		"entering car":         {OK: false},
		"entering from behind": {OK: false},
		"leaving bag":          {OK: false},
		"walking":              {OK: false},
	} {
		h, side, ok := Condition{Kind: KindAction, Value: value}.Occurrence()
		if !ok {
			h, side = "", ""
		}
		require.Equal(t, want, occurrence{h, side, ok}, value)
	}
	_, _, ok := Condition{Kind: KindState, Value: "jumping"}.Occurrence()
	require.False(t, ok)
}
