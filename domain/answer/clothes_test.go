package answer_test

import (
	"testing"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// clad is a person whose box has some colors.
func clad(box evidence.Box, colors map[string]float64) [][]thing {
	return still(6, thing{term: "person", score: .8, box: box, colors: colors})
}

func TestClothesByThePartOfTheBody(t *testing.T) {
	t.Parallel()
	// A box of .9 of the frame in height is twice as high as wide in a frame of 16:9.
	whole := evidence.Box{X1: .4, Y1: .1, X2: .6, Y2: .95}
	seated := evidence.Box{X1: .4, Y1: .2, X2: .6, Y2: .8}
	half := evidence.Box{X1: .4, Y1: .4, X2: .6, Y2: 1}
	portrait := evidence.Box{X1: .2, Y1: .3, X2: .8, Y2: 1}
	redOverBlue := map[string]float64{"red": .3, "blue": .3, "red/2": .8, "blue/3": .7, "blue/4": .6, "red/3": .1}
	blackCoat := map[string]float64{"black": .7, "red": .1, "black/2": .8, "red/2": .12, "black/3": .8, "black/4": .8}
	helmet := map[string]float64{"yellow": .1, "yellow/1": .7, "gray/2": .8, "gray/3": .8, "gray/4": .8}
	dress := map[string]float64{"red": .25, "red/2": .7, "red/3": .6}
	slim := clad(whole, redOverBlue)
	check(t, []ask{
		{"Is there a person wearing a red shirt?", answer.Yes, slim},
		{"Is there a person wearing a blue shirt?", answer.No, slim},
		{"Is there a person wearing blue jeans?", answer.Yes, slim},
		{"Is there a person in red trousers?", answer.No, slim},
		{"Is there a person wearing blue?", answer.Yes, slim},
		{"Is there a person wearing green?", answer.No, slim},
		{"Is there a person wearing blue trousers?", answer.Yes, clad(seated, redOverBlue)},
		{"Is there a person wearing blue trousers?", answer.Indeterminate, clad(half, redOverBlue)},
		{"Is there a person wearing blue trousers?", answer.Indeterminate, clad(portrait, redOverBlue)},
		{"Is there a person wearing a red shirt?", answer.Yes, clad(seated, redOverBlue)},
		{"Is there a person wearing a blue shirt?", answer.Yes, clad(portrait, redOverBlue)},
		{"Is there a person wearing a black coat?", answer.Yes, clad(whole, blackCoat)},
		{"Is there a person wearing a red coat?", answer.No, clad(whole, blackCoat)},
		{"Is there a person wearing yellow?", answer.No, clad(whole, helmet)},
		{"Is there a person wearing a red dress?", answer.Yes, clad(whole, dress)},
		{"Is there a person wearing a red and black suit?", answer.No, clad(whole, dress)},
		// This model reports the colors of whole boxes only.
		{"Is there a person wearing a red shirt?", answer.Yes, clad(whole, map[string]float64{"red": .5})},
		{"Is there a person wearing red trousers?", answer.Indeterminate, clad(whole, map[string]float64{"red": .5})},
		{"Is there a person wearing red trousers?", answer.Indeterminate, clad(whole, nil)},
	})
}
