package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// portrait is a body that the frame cuts off at the hips, with its head above its
// shoulders.
func portrait() thing {
	f := figure{
		shoulder: [2]float64{.7, .4}, elbow: [2]float64{.75, .7}, wrist: [2]float64{.7, .9},
		hip: [2]float64{.5, 1}, knee: [2]float64{.5, 1}, ankle: [2]float64{.5, 1}, hidden: legs,
		other: &[3][2]float64{{.3, .4}, {.25, .7}, {.3, .9}},
	}
	p := f.in(evidence.Box{X1: .2, Y1: .2, X2: .8, Y2: 1})
	p.joints[0] = evidence.Keypoint{X: .5, Y: .3, Score: .8}
	return p
}

func TestStance(t *testing.T) {
	t.Parallel()
	dim := stander.in(tall)
	for i := range dim.joints {
		dim.joints[i].Score *= .35
	}
	veiled := stander.in(evidence.Box{X1: .45, Y1: .1, X2: .55, Y2: .8})
	for i := range veiled.joints {
		veiled.joints[i].Score = .1
	}
	lifted := stander.in(tall) // the left knee
	lifted.joints[13].Y, lifted.joints[15].Y = lifted.joints[11].Y+.02, lifted.joints[14].Y
	squat := sitter
	squat.knee, squat.ankle = [2]float64{.5, .78}, [2]float64{.5, .95}
	tilted := portrait()
	tilted.joints[0].Y = .9 // the head is lower than the shoulders
	check(t, []ask{
		{"Is a person standing?", answer.Yes, still(6, dim)},
		{"Is a person sitting?", answer.No, still(6, dim)},
		{"Is a person standing?", answer.Yes, still(6, veiled)},
		{"Is a person standing?", answer.Yes, still(6, lifted)},
		{"Is a person sitting?", answer.No, still(6, squat.in(tall))},
		{"Is a person lying?", answer.No, still(6, portrait())},
		{"Is a person sitting?", answer.Indeterminate, still(6, portrait())},
		{"Is a person lying?", answer.Indeterminate, still(6, tilted)},
	})
}

func TestStanceIsKeptWhileHidden(t *testing.T) {
	t.Parallel()
	hidden := stander.in(tall)
	hidden.box.Y2 = 1 // cut off by the frame
	for i := range hidden.joints {
		hidden.joints[i].Score = .1
	}
	check(t, []ask{
		{"Is a person sitting?", answer.Indeterminate, still(8, hidden)},
		{"Is a person sitting?", answer.No, append(still(4, hidden), still(4, stander.in(tall))...)},
		{"Is a person sitting?", answer.Yes, append(still(3, sitter.in(tall)), still(4, hidden)...)},
		{"Is a person sitting?", answer.Indeterminate, append(still(4, stander.in(tall)), still(9, hidden)...)},
	})
	shown := append(still(3, sitter.in(tall)), still(4, hidden)...)
	require.Equal(t, 3.5, scene("Is a person sitting?", shown...).Clips[0].EndS)
}
