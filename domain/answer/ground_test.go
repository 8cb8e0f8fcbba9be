package answer_test

import (
	"testing"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

func TestOnTheGround(t *testing.T) {
	t.Parallel()
	squatter := sitter
	squatter.hip, squatter.knee, squatter.ankle = [2]float64{.4, .85}, [2]float64{.8, .7}, [2]float64{.8, .9}
	seat := evidence.Box{X1: .3, Y1: .3, X2: .7, Y2: .9}
	bed := thing{term: "bed", score: .8, box: evidence.Box{X1: .05, Y1: .65, X2: .9, Y2: .95}}
	dog := thing{term: "dog", score: .8, box: evidence.Box{X1: .3, Y1: .5, X2: .5, Y2: .7}}
	couch := thing{term: "couch", score: .8, box: evidence.Box{X1: .2, Y1: .4, X2: .8, Y2: .9}}
	check(t, []ask{
		{"Is a person lying on the ground?", answer.Yes, still(6, lier.in(wide))},
		{"Is a person lying on the floor?", answer.No, still(6, lier.in(wide), bed)},
		{"Is a person lying in the bed?", answer.Yes, still(6, lier.in(wide), bed)},
		{"Is a person lying on the ground?", answer.No, still(6, stander.in(tall))},
		{"Is a person sitting on the floor?", answer.Yes, still(6, squatter.in(seat))},
		{"Is a person sitting on the floor?", answer.No, still(6, sitter.in(seat))},
		{"Is a person sitting on the floor?", answer.Indeterminate, still(6, deskSitter.in(seat))},
		{"Is there a person on the ground?", answer.Indeterminate, still(6, stander.in(tall))},
		{"Is there a person on the ground?", answer.No, still(6)},
		{"Is a person standing on the grass?", answer.Yes, still(6, stander.in(tall))},
		{"Is there a dog on the floor?", answer.Yes, still(6, dog)},
		{"Is there a dog on the floor?", answer.No, still(6, dog, couch)},
		{"Is there a cup on the floor?", answer.Indeterminate, still(6, thing{term: "cup", score: .8, box: at(.5, .9)})},
	})
}
