package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// crossing moves between two places in the frame, given by the center of its box, between
// two times. It is not detected outside of the frame.
func crossing(n int, fromS, toS, from, to float64) [][]thing {
	frames := make([][]thing, n)
	for i := range frames {
		at := float64(i) / 8
		x := from + (to-from)*min(1, max(0, (at-fromS)/(toS-fromS)))
		box := evidence.Box{X1: max(0, x-.05), Y1: .4 + .002*float64(i%3), X2: min(1, x+.05), Y2: .7}
		if at >= fromS && box.X2-box.X1 > .02 {
			frames[i] = []thing{{term: "person", score: .7, box: box}}
		}
	}
	return frames
}

func TestPassages(t *testing.T) {
	t.Parallel()
	comes, goes := crossing(48, 2, 4, -.05, .5), crossing(48, 0, 5, .3, 1.05)
	there := crossing(48, 0, 4, .2, .6)
	appears := crossing(48, 2, 4, .4, .6)
	returns := append(crossing(24, 0, 2, .3, 1.05), crossing(48, 2.6, 4.6, 1.05, .3)[24:]...)
	waits := crossing(48, 0, 1, .04, .04)
	for i := range waits {
		if i%16 > 12 {
			waits[i] = nil // missed for a moment, at the edge of the frame
		}
	}
	checkClosely(t, map[string]closeAsk{
		"comes":               {"Does anyone enter the room?", answer.Yes, comes},
		"comes from left":     {"Does a person enter from the left?", answer.Yes, comes},
		"not from right":      {"Does a person enter from the right?", answer.No, comes},
		"on the left":         {"Does a person enter the frame on the left?", answer.Yes, comes},
		"comes and stays":     {"Does anyone leave?", answer.No, comes},
		"nobody":              {"Does nobody enter?", answer.No, comes},
		"not in the end":      {"Does anyone enter after 4 seconds?", answer.No, comes},
		"goes":                {"Does a person leave the frame?", answer.Yes, goes},
		"goes to the right":   {"Does a person leave to the right?", answer.Yes, goes},
		"not to the left":     {"Does a person leave to the left?", answer.No, goes},
		"was there":           {"Does anyone enter?", answer.No, goes},
		"enters or leaves":    {"Does anyone enter or leave the room?", answer.Yes, goes},
		"stays all the time":  {"Does anyone leave the room?", answer.No, there},
		"goes and returns":    {"Does a person leave to the right?", answer.Yes, returns},
		"returns from there":  {"Does a person enter from the right?", answer.Yes, returns},
		"not to the left, so": {"Does a person leave to the left?", answer.No, returns},
		"missed":              {"Does anyone enter?", answer.No, waits},
	})
	sudden := closely("Does anyone enter?", appears...)
	require.Equal(t, answer.No, sudden.Answer)
	require.LessOrEqual(t, sudden.Confidence, .7, "a person who appears may have come through a door")
	require.Equal(t, answer.Indeterminate, closely("How many people enter?", comes...).Answer, "at one time none may")
	r := closely("When does a person enter?", comes...)
	require.Len(t, r.Clips, 1)
	require.InDelta(t, 2, r.Clips[0].StartS, .3)
	require.InDelta(t, 2.4, r.Clips[0].EndS, .3)
}
