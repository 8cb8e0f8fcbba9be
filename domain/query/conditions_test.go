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

func TestAssessable(t *testing.T) {
	t.Parallel()
	type needs struct{ assessed, pose bool }
	cases := map[string]needs{
		"Is there a dog?":                        {assessed: true},
		"Is there a dog on the left?":            {assessed: true},
		"Is there a red car?":                    {assessed: true},
		"Is there a dog or a red car?":           {assessed: true},
		"Is a person sitting?":                   {assessed: true, pose: true},
		"When is someone raising a hand?":        {assessed: true, pose: true},
		"Is there a dog in the first 5 seconds?": {assessed: true},
		"Is a person walking?":                   {assessed: true, pose: true},
		"Is a person running?":                   {assessed: true},
		"Is the car moving?":                     {assessed: true},
		"Is there a big dog?":                    {assessed: true},
		"Is there a person in a red shirt?":      {assessed: true},
		"Is there a dog in a red shirt?":         {},
		"Is there a person in red trousers?":     {assessed: true},
		"Is there a person in red shoes?":        {},
		"Is there a person wearing a hat?":       {},
		"Is there a dog in front of a car?":      {assessed: true},
		"Is there a dog under a car?":            {},
		"Is the dog running?":                    {assessed: true},
		"Is there a dog next to a car?":          {assessed: true},
		"Is someone riding a bicycle?":           {assessed: true},
		"Is there a dog next to a red car?":      {},
		"Is there a dog behind a car?":           {assessed: true},
		"Is the dog sitting?":                    {},
		"Is the car running?":                    {},
		"Is an animal running?":                  {},
		"Is there a fluffy dog?":                 {},
		"Is there a red and a fluffy dog?":       {},
		"Is there a dog in the background?":      {},
		"Is the door open?":                      {},
		"Is someone lying on the ground?":        {assessed: true, pose: true},
		"Is there a person on the floor?":        {assessed: true, pose: true},
		"Is there a person at the table?":        {assessed: true},
		"Is there a person across the street?":   {},
		"Are his arms crossed?":                  {assessed: true, pose: true},
		"Is anyone jumping?":                     {assessed: true, pose: true},
		"Does the dog jump?":                     {assessed: true},
		"Does the ball jump?":                    {},
		"Does the dog jump over a fence?":        {},
		"Does someone fall?":                     {assessed: true},
		"Does the dog fall?":                     {},
		"When does a car enter from the left?":   {assessed: true},
		"Does anyone leave the room?":            {assessed: true},
		"Does anyone leave the bag?":             {},
		"How many people enter the room?":        {},
		"Do two people leave?":                   {},
		"Why?":                                   {},
	}
	for prompt, want := range cases {
		q := Compile(prompt)
		require.Equal(t, want, needs{Assessable(q), NeedsPose(q)}, prompt)
	}
	for _, prompt := range []string{"Is the dog sitting?", "How many dogs are dancing?", "When does the dog dance?", "Is there a red dog dancing?"} {
		require.Equal(t, UnsupportedActionTerm, Unsupported(Compile(prompt)), prompt)
	}
	require.Equal(t, UnsupportedQueryForm, Unsupported(Compile("Why is he sad?")))
	require.Equal(t, UnsupportedQueryForm, Unsupported(Compile("Is a fluffy person sitting?")), "the attribute is the unsupported part, not the action")
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
	require.True(t, NeedsDenseSamples(Compile("Does anyone fall?")))
	require.False(t, NeedsDenseSamples(Compile("Does anyone enter?")))
}
