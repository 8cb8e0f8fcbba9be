package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// going is an object that moves by dx of the frame's width in each sample, which is half a
// second. Its box is a fifth of the frame high.
func going(term string, n int, from, dx float64) [][]thing {
	var frames [][]thing
	for i := range n {
		x := from + dx*float64(i)
		frames = append(frames, []thing{{term: term, score: .8, box: evidence.Box{X1: x - .03, Y1: .4, X2: x + .03, Y2: .6}}})
	}
	return frames
}

// trembling is a person who stands, with the noise of a camera.
func trembling(n int) [][]thing {
	frames := going("person", n, .5, 0)
	for i := range frames {
		frames[i][0].box.Y1 += .002 * float64(i%3)
	}
	return frames
}

// swaying is a person who moves to and fro on one spot.
func swaying(n int) [][]thing {
	frames := going("person", n, .5, 0)
	for i := range frames {
		if i%2 == 1 {
			frames[i][0].box.X1 += .03
			frames[i][0].box.X2 += .03
		}
	}
	return frames
}

func TestMovement(t *testing.T) {
	t.Parallel()
	// In a frame of 16:9, .03 of the width per sample is about half a height per second.
	walker, runner, stood := going("person", 10, .1, .03), going("person", 6, .1, .12), trembling(10)
	dog := going("dog", 6, .1, .12)
	check(t, []ask{
		{"Is a person walking?", answer.Yes, walker},
		{"Is a person running?", answer.No, walker},
		{"Is a person running?", answer.Yes, runner},
		{"Is a person walking?", answer.No, runner},
		{"Is a person walking?", answer.No, stood},
		{"Is a person running?", answer.No, stood},
		{"Is nobody walking?", answer.Yes, stood},
		{"Is a person walking?", answer.No, swaying(10)},
		{"Is a person walking?", answer.Indeterminate, going("person", 10, .5, 0)},
		{"Is a dog running?", answer.Yes, dog},
		{"Is a dog running?", answer.No, going("dog", 6, .5, .002)},
		{"Is a dog running?", answer.No, runner},
		{"Is a person running?", answer.Indeterminate, still(1, stood[0]...)},
	})
}

func TestMovementIsMeasuredPerObject(t *testing.T) {
	t.Parallel()
	frames, dogs := going("person", 10, .1, .03), going("dog", 10, .1, .12)
	for i := range frames {
		frames[i] = append(frames[i], thing{
			term: "person", score: .7, box: evidence.Box{X1: .72, Y1: .4, X2: .78, Y2: .6 + .002*float64(i%3)},
		})
	}
	require.Equal(t, 1, *scene("How many people are walking?", frames...).DetectedCount)
	check(t, []ask{
		{"Is a person walking on the left?", answer.Yes, frames},
		{"Is a person walking on the right?", answer.No, frames},
	})
	for i := range dogs {
		dogs[i] = append(dogs[i], frames[i][1])
	}
	require.Equal(t, answer.No, scene("Is a person running?", dogs...).Answer, "the dog runs")
}

func TestMovementClips(t *testing.T) {
	t.Parallel()
	frames := append(going("dog", 8, .1, 0), going("dog", 6, .1, .12)...)
	frames = append(frames, going("dog", 8, .7, 0)...)
	for i := range frames {
		frames[i][0].box.Y1 += .002 * float64(i%3) // the noise of a camera
	}
	r := scene("When is the dog running?", frames...)
	require.Equal(t, answer.Yes, r.Answer)
	require.Len(t, r.Clips, 1)
	require.InDelta(t, 4, r.Clips[0].StartS, .5)
	require.InDelta(t, 7, r.Clips[0].EndS, .5)
}

// TestStrideInAPicture: an object that does not move at all is in a still picture, in which
// the stride decides.
func TestStrideInAPicture(t *testing.T) {
	t.Parallel()
	strider := func(apart float64) thing {
		p := stander.in(evidence.Box{X1: .4, Y1: .1, X2: .6, Y2: .8})
		p.joints[15].X, p.joints[16].X = .5-apart/2, .5+apart/2
		return p
	}
	noisy := still(8, strider(.08))
	for i := range noisy {
		p := strider(.08)
		p.box.Y1 += .002 * float64(i%3)
		noisy[i] = []thing{p}
	}
	check(t, []ask{
		{"Is a person walking?", answer.Yes, still(6, strider(.08))},
		{"Is a person walking?", answer.No, still(6, strider(.005))},
		{"Is a person walking?", answer.No, noisy},
		{"Is a person walking?", answer.No, still(6, sitter.in(tall))},
		{"Is a person running?", answer.Indeterminate, still(6, strider(.08))},
		{"Is a person running?", answer.Indeterminate, still(6, strider(.25))},
	})
}

func TestMoving(t *testing.T) {
	t.Parallel()
	parked := going("car", 8, .5, 0)
	for i := range parked {
		parked[i][0].box.Y1 += .002 * float64(i%3)
	}
	check(t, []ask{
		{"Is the car moving?", answer.Yes, going("car", 8, .1, .05)},
		{"Is the car moving?", answer.No, parked},
		{"Is the car moving?", answer.Indeterminate, going("car", 8, .5, 0)},
		{"Is a person moving?", answer.Yes, going("person", 8, .1, .03)},
		{"Is a person moving?", answer.No, swaying(10)},
	})
}

// TestCrowdDoesNotRun: a person who stands where somebody else stood a moment before did
// not jump there. An object that appears here and there in turn is several people.
func TestCrowdDoesNotRun(t *testing.T) {
	t.Parallel()
	person := func(x float64) thing {
		return thing{term: "person", score: .6, box: evidence.Box{X1: x - .01, Y1: .4, X2: x + .01, Y2: .5}}
	}
	var crowd, restless [][]thing
	for i := range 10 {
		var seen []thing
		for k := range 6 {
			if (k+i)%2 == 0 { // each is detected once in a second, by turns
				seen = append(seen, person(.2+.06*float64(k)))
			}
		}
		crowd = append(crowd, seen)
		restless = append(restless, []thing{person(.4 + .08*float64(i%2))})
	}
	check(t, []ask{
		{"Is a person running?", answer.Indeterminate, crowd},
		{"Is a person running?", answer.No, restless},
		{"Is a person running?", answer.Yes, going("person", 6, .1, .12)},
	})
}
