package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

func TestRelations(t *testing.T) {
	t.Parallel()
	dog := thing{term: "dog", score: .8, box: evidence.Box{X1: .2, Y1: .5, X2: .3, Y2: .7}}
	near := thing{term: "person", score: .8, box: evidence.Box{X1: .32, Y1: .2, X2: .45, Y2: .75}}
	far := thing{term: "person", score: .8, box: evidence.Box{X1: .85, Y1: .2, X2: .97, Y2: .75}}
	horse := thing{term: "horse", score: .8, box: evidence.Box{X1: .3, Y1: .4, X2: .6, Y2: .9}}
	rider := thing{term: "person", score: .8, box: evidence.Box{X1: .38, Y1: .1, X2: .52, Y2: .6}}
	beside := thing{term: "person", score: .8, box: evidence.Box{X1: .7, Y1: .3, X2: .8, Y2: .9}}
	together, apart, alone := still(6, dog, near), still(6, dog, far), still(6, dog)
	check(t, []ask{
		{"Is there a dog next to a person?", answer.Yes, together},
		{"Is there a dog next to a person?", answer.No, apart},
		{"Is there a dog next to a person?", answer.No, alone},
		{"Is there a person next to a dog?", answer.Yes, together},
		{"Is there a dog near a person?", answer.Yes, together},
		{"Is there a dog to the left of a person?", answer.Yes, apart},
		{"Is there a dog to the right of a person?", answer.No, apart},
		{"Is there a person to the right of a dog?", answer.Yes, apart},
		{"Is a person riding a horse?", answer.Yes, still(6, horse, rider)},
		{"Is a person riding a horse?", answer.No, still(6, horse, beside)},
		{"Is a person riding a horse?", answer.No, still(6, rider)},
		{"Is there a person on a horse?", answer.Yes, still(6, horse, rider)},
		{"Is there a horse on a person?", answer.No, still(6, horse, rider)},
		{"Is there a cup on the table?", answer.Yes, still(6,
			thing{term: "dining table", score: .8, box: evidence.Box{X1: .1, Y1: .3, X2: .9, Y2: .9}},
			thing{term: "cup", score: .8, box: evidence.Box{X1: .4, Y1: .7, X2: .45, Y2: .8}})},
		{"Is there a dog next to a unicorn?", answer.Indeterminate, together},
		{"Is there a dog next to a dog?", answer.No, alone},
	})
	frames := append(still(6, horse, beside), still(6, horse, rider)...)
	r := scene("Is a person riding a horse?", frames...)
	require.Len(t, r.Clips, 1)
	require.Equal(t, [2]float64{2.75, 6}, [2]float64{r.Clips[0].StartS, r.Clips[0].EndS})
}

func TestInFrontAndBehind(t *testing.T) {
	t.Parallel()
	car := thing{term: "car", score: .8, box: evidence.Box{X1: .2, Y1: .4, X2: .8, Y2: .8}}
	before := thing{term: "person", score: .8, box: evidence.Box{X1: .3, Y1: .3, X2: .4, Y2: .9}}
	after := thing{term: "person", score: .8, box: evidence.Box{X1: .3, Y1: .1, X2: .4, Y2: .55}}
	driver := thing{term: "person", score: .8, box: evidence.Box{X1: .4, Y1: .45, X2: .45, Y2: .55}}
	aside := thing{term: "person", score: .8, box: evidence.Box{X1: .85, Y1: .3, X2: .95, Y2: .9}}
	bust := thing{term: "person", score: .8, box: evidence.Box{X1: .3, Y1: .3, X2: .5, Y2: 1}}
	sitting := thing{term: "person", score: .8, box: evidence.Box{X1: .3, Y1: .2, X2: .6, Y2: .8}}
	cake := thing{term: "cake", score: .8, box: evidence.Box{X1: .4, Y1: .65, X2: .65, Y2: .8}}
	desk := thing{term: "dining table", score: .8, box: evidence.Box{X1: .1, Y1: .7, X2: .9, Y2: 1}}
	check(t, []ask{
		{"Is there a person in front of a car?", answer.Yes, still(6, car, before)},
		{"Is there a car behind a person?", answer.Yes, still(6, car, before)},
		{"Is there a person behind a car?", answer.No, still(6, car, before)},
		{"Is there a car in front of a person?", answer.Yes, still(6, car, after)},
		{"Is there a cake in front of a person?", answer.Yes, still(6, sitting, cake)},
		{"Is there a person behind a cake?", answer.Yes, still(6, sitting, cake)},
		{"Is there a person in front of a cake?", answer.No, still(6, sitting, cake)},
		{"Is there a person behind a car?", answer.Yes, still(6, car, after)},
		{"Is there a person in front of a car?", answer.No, still(6, car, after)},
		{"Is there a person behind a car?", answer.No, still(6, car, driver)},
		{"Is there a person in front of a car?", answer.No, still(6, car, aside)},
		{"Is there a person behind a car?", answer.No, still(6, car, aside)},
		{"Is there a person behind the table?", answer.No, still(6, desk, bust)},
		{"Is there a person in front of a car?", answer.No, still(6, before)},
	})
}

func TestSize(t *testing.T) {
	t.Parallel()
	dog := func(side float64) [][]thing {
		return still(6, thing{term: "dog", score: .8, box: evidence.Box{X1: .1, Y1: .1, X2: .1 + side, Y2: .1 + side}})
	}
	check(t, []ask{
		{"Is there a big dog?", answer.Yes, dog(.6)},
		{"Is there a small dog?", answer.No, dog(.6)},
		{"Is there a big dog?", answer.No, dog(.1)},
		{"Is there a small dog?", answer.Yes, dog(.1)},
		{"Is there a big dog?", answer.No, dog(.3)},
		{"Is there a small dog?", answer.No, dog(.3)},
	})
}

func TestClothes(t *testing.T) {
	t.Parallel()
	worn := func(shares map[string]float64) [][]thing {
		return still(6, thing{term: "person", score: .8, box: at(.5, .5), colors: shares})
	}
	red := worn(map[string]float64{"red": .43, "black": .25, "brown": .2, "gray": .12})
	check(t, []ask{
		{"Is there a person in a red shirt?", answer.Yes, red},
		{"Is there a person wearing a blue shirt?", answer.No, red},
		{"Is there a person wearing red?", answer.Yes, red},
		{"Is there a person in a red shirt?", answer.No, worn(map[string]float64{"red": .12, "brown": .3, "gray": .58})},
		{"Is there a person in a black and white dress?", answer.Yes, worn(map[string]float64{"black": .4, "white": .4, "brown": .2})},
		{"Is there a person in a red shirt?", answer.Indeterminate, worn(nil)},
		{"Is nobody wearing red?", answer.No, red},
	})
}

// TestRoles: a person on a bicycle is a cyclist. A person on nothing that is detected is a
// pedestrian.
func TestRoles(t *testing.T) {
	t.Parallel()
	bicycle := thing{term: "bicycle", score: .8, box: evidence.Box{X1: .3, Y1: .5, X2: .5, Y2: .9}}
	cyclist := thing{term: "person", score: .8, box: evidence.Box{X1: .35, Y1: .2, X2: .45, Y2: .8}}
	walker := thing{term: "person", score: .8, box: evidence.Box{X1: .7, Y1: .4, X2: .8, Y2: .9}}
	check(t, []ask{
		{"Is there a cyclist?", answer.Yes, still(6, bicycle, cyclist)},
		{"Is there a cyclist?", answer.No, still(6, bicycle, walker)},
		{"Is there a cyclist?", answer.No, still(6, walker)},
		{"Is there no cyclist?", answer.Yes, still(6, walker)},
		{"Are there exactly two cyclists?", answer.No, still(6, bicycle, cyclist, walker)},
		{"Is the cyclist on the right?", answer.No, still(6, bicycle, cyclist, walker)},
		{"Is there a skier?", answer.No, still(6, bicycle, cyclist)},
		{"Is there a pedestrian?", answer.Yes, still(6, bicycle, cyclist, walker)},
		{"Is there a pedestrian?", answer.No, still(6, bicycle, cyclist)},
		{"Are there no pedestrians?", answer.Yes, still(6, bicycle, cyclist)},
		{"Is there a cyclist and a pedestrian?", answer.Yes, still(6, bicycle, cyclist, walker)},
	})
	r := scene("How many pedestrians are there?", still(6, bicycle, cyclist, walker)...)
	require.Equal(t, 1, *r.DetectedCount)
}
