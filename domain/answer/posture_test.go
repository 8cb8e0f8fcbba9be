package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// figure is a person drawn by keypoints in a box from 0 to 1. in puts it into a part of the
// frame.
type figure struct {
	shoulder, elbow, wrist, hip, knee, ankle [2]float64
	// other is the second arm; nil for one like the first.
	other *[3][2]float64
	// hidden joints have a low score.
	hidden map[int]bool
}

func (f figure) in(box evidence.Box) thing {
	joints := make([]evidence.Keypoint, 17)
	put := func(p [2]float64, joint ...int) {
		for _, j := range joint {
			score := .7
			if f.hidden[j] {
				score = .1
			}
			joints[j] = evidence.Keypoint{X: box.X1 + p[0]*(box.X2-box.X1), Y: box.Y1 + p[1]*(box.Y2-box.Y1), Score: score}
		}
	}
	other := [3][2]float64{f.shoulder, f.elbow, f.wrist}
	if f.other != nil {
		other = *f.other
	}
	put(f.shoulder, 5)
	put(other[0], 6)
	put(f.elbow, 7)
	put(other[1], 8)
	put(f.wrist, 9)
	put(other[2], 10)
	put(f.hip, 11, 12)
	put(f.knee, 13, 14)
	put(f.ankle, 15, 16)
	return thing{term: "person", score: .8, box: box, joints: joints}
}

var (
	tall = evidence.Box{X1: .4, Y1: .1, X2: .6, Y2: .8}
	wide = evidence.Box{X1: .1, Y1: .6, X2: .8, Y2: .8}
	legs = map[int]bool{13: true, 14: true, 15: true, 16: true}

	stander = figure{
		shoulder: [2]float64{.5, .2}, elbow: [2]float64{.5, .35}, wrist: [2]float64{.5, .55},
		hip: [2]float64{.5, .5}, knee: [2]float64{.5, .72}, ankle: [2]float64{.5, .95},
	}
	sitter = figure{
		shoulder: [2]float64{.4, .25}, elbow: [2]float64{.4, .45}, wrist: [2]float64{.6, .5},
		hip: [2]float64{.4, .6}, knee: [2]float64{.8, .65}, ankle: [2]float64{.8, .95},
	}
	// deskSitter is visible down to the hips. The frame goes on below.
	deskSitter = figure{
		shoulder: [2]float64{.5, .45}, elbow: [2]float64{.5, .8}, wrist: [2]float64{.5, .85},
		hip: [2]float64{.5, .95}, knee: [2]float64{.5, .95}, ankle: [2]float64{.5, .95}, hidden: legs,
	}
	lier = figure{
		shoulder: [2]float64{.2, .5}, elbow: [2]float64{.3, .7}, wrist: [2]float64{.4, .7},
		hip: [2]float64{.55, .55}, knee: [2]float64{.75, .5}, ankle: [2]float64{.95, .55},
	}
)

// cutOff is a stander whose legs are outside of the frame.
var cutOff = figure{
	shoulder: [2]float64{.4, .3}, elbow: [2]float64{.4, .58}, wrist: [2]float64{.4, .86},
	hip: [2]float64{.5, .8}, knee: [2]float64{.5, 1}, ankle: [2]float64{.5, 1},
}

func waver() figure {
	f := stander
	f.other = &[3][2]float64{{.55, .2}, {.7, .25}, {.7, .05}}
	return f
}

func TestPosture(t *testing.T) {
	t.Parallel()
	stands, sits, lies := still(6, stander.in(tall)), still(6, sitter.in(tall)), still(6, lier.in(wide))
	desk, waves := still(6, deskSitter.in(tall)), still(6, waver().in(tall))
	rests := deskSitter // with the hands on the table, above the hips in the picture
	rests.hip, rests.elbow, rests.wrist = [2]float64{.5, .85}, [2]float64{.5, .8}, [2]float64{.5, .95}
	bust := deskSitter
	cut := still(6, bust.in(evidence.Box{X1: .3, Y1: .3, X2: .7, Y2: 1})) // by the frame
	check(t, []ask{
		{"Is a person standing?", answer.Yes, stands},
		{"Is a person sitting?", answer.No, stands},
		{"Is a person lying?", answer.No, stands},
		{"Is someone raising a hand?", answer.No, stands},
		{"Is a person sitting?", answer.Yes, sits},
		{"Is a person standing?", answer.No, sits},
		{"Is a person sitting?", answer.Yes, desk},
		{"Is a person standing?", answer.No, still(6, rests.in(tall))},
		{"Is a person standing?", answer.Yes, still(6, cutOff.in(evidence.Box{X1: .3, Y1: .3, X2: .7, Y2: 1}))},
		{"Is a person lying?", answer.Yes, lies},
		{"Is a person standing?", answer.No, lies},
		{"Is someone raising a hand?", answer.Yes, waves},
		{"Is a person standing?", answer.Yes, waves},
		{"Is nobody sitting?", answer.Yes, stands},
		{"Is nobody standing?", answer.No, stands},
		{"Is a person sitting?", answer.Indeterminate, cut},
		{"Is a person sitting?", answer.No, still(6)},
		{"Is a person sitting on the left?", answer.No, sits},
		{"Is a person sitting and a dog?", answer.No, sits},
	})
}

func TestPostureOfOneAmongMany(t *testing.T) {
	t.Parallel()
	left, right := evidence.Box{X1: .1, Y1: .1, X2: .3, Y2: .8}, evidence.Box{X1: .7, Y1: .1, X2: .9, Y2: .8}
	frames := still(6, sitter.in(left), stander.in(right))
	require.Equal(t, 1, *scene("How many people are sitting?", frames...).DetectedCount)
	require.Equal(t, 2, *scene("How many people are there?", frames...).DetectedCount)
	check(t, []ask{
		{"Is there a person sitting on the left?", answer.Yes, frames},
		{"Is there a person sitting on the right?", answer.No, frames},
		{"Are at least two people sitting?", answer.No, frames},
	})
}

func TestUnseenKeypointsLeavePostureUndecided(t *testing.T) {
	t.Parallel()
	blind := stander.in(tall)
	blind.joints = nil
	check(t, []ask{{"Is a person sitting?", answer.Indeterminate, still(6, blind)}})
	far := blind
	far.box = evidence.Box{X1: .01, Y1: .5, X2: .04, Y2: .58}
	check(t, []ask{{"Is a person sitting?", answer.No, still(6, stander.in(tall), far)}})
}

func TestActionClips(t *testing.T) {
	t.Parallel()
	frames := append(still(4, stander.in(tall)), still(4, waver().in(tall))...)
	r := scene("Is someone raising a hand?", frames...)
	require.Len(t, r.Clips, 1)
	require.Equal(t, [2]float64{1.75, 4}, [2]float64{r.Clips[0].StartS, r.Clips[0].EndS})
	require.Less(t, r.Confidence, r.TermConfidences["person"], "an action is less sure than its person")
	flash := append(still(4, stander.in(tall)), append(still(1, waver().in(tall)), still(4, stander.in(tall))...)...)
	require.NotEqual(t, answer.Yes, scene("Is someone raising a hand?", flash...).Answer, "one sample is not enough")
}
