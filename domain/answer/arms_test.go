package answer_test

import (
	"testing"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// armed is a figure seen from the front, down to the hips. left and right are the wrists,
// in the box, of the arms whose elbows are at the left and the right of it.
func armed(left, right [2]float64) thing {
	f := stander
	f.shoulder, f.elbow, f.wrist = [2]float64{.8, .4}, [2]float64{.9, .7}, left
	f.other = &[3][2]float64{{.2, .4}, {.1, .7}, right}
	f.hip = [2]float64{.5, .9}
	return f.in(evidence.Box{X1: .3, Y1: .1, X2: .7, Y2: .9})
}

func TestCrossingArms(t *testing.T) {
	t.Parallel()
	const prompt = "Are the person's arms crossed?"
	crossed := armed([2]float64{.25, .68}, [2]float64{.75, .68})
	hidden := armed([2]float64{.25, .68}, [2]float64{.75, .68})
	hidden.joints[9].Score, hidden.joints[10].Score = .05, .05
	dim := armed([2]float64{.25, .68}, [2]float64{.75, .68})
	dim.joints[9].Score = .15
	aside := stander // seen from the side
	aside.wrist = [2]float64{.7, .36}
	check(t, []ask{
		{prompt, answer.Yes, still(6, crossed)},
		{"Is nobody crossing their arms?", answer.No, still(6, crossed)},
		{prompt, answer.Yes, still(6, dim)},
		{prompt, answer.Indeterminate, still(6, hidden)},
		{prompt, answer.No, still(6, armed([2]float64{.9, .95}, [2]float64{.1, .95}))}, // hanging
		{prompt, answer.No, still(6, armed([2]float64{.55, .9}, [2]float64{.45, .9}))}, // clasped in the lap
		{prompt, answer.No, still(6, armed([2]float64{.55, .5}, [2]float64{.45, .5}))}, // holding something up
		{prompt, answer.No, still(6, armed([2]float64{.7, .85}, [2]float64{.3, .85}))}, // on the hips
		{prompt, answer.No, still(6, armed([2]float64{.88, .5}, [2]float64{.4, .72}))}, // one arm only
		{prompt, answer.No, still(6, stander.in(tall))},
		{prompt, answer.Indeterminate, still(6, aside.in(tall))},
		{prompt, answer.No, still(6)},
	})
}
