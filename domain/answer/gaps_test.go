package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// TestMotionGaps has a dog that stays and hops once at 2 s, in samples of half a second.
func TestMotionGaps(t *testing.T) {
	t.Parallel()
	ev := evidence.Evidence{Terms: []string{"dog", "cat"}, Known: []bool{true, true}, IntervalS: .5}
	for i := range 10 {
		d := detected(0, .4, .6)
		if i == 4 {
			d.Box.Y1, d.Box.Y2 = d.Box.Y1-.1, d.Box.Y2-.1
		}
		f := evidence.Frame{At: float64(i) / 2}
		if i > 0 {
			f.Detections = append(f.Detections, d)
		}
		ev.Frames = append(ev.Frames, f)
	}
	all := answer.MotionGaps(ev, ev.Terms, answer.CPU(), 100)
	require.Len(t, all, 9, "between any two samples of which one shows it")
	require.Equal(t, answer.Gap{AfterS: 0, BeforeS: .5}, all[0])
	require.Equal(t, []answer.Gap{{AfterS: 0, BeforeS: .5}, {AfterS: 1.5, BeforeS: 2}, {AfterS: 2, BeforeS: 2.5}}, answer.MotionGaps(ev, ev.Terms, answer.CPU(), 3))
	require.Empty(t, answer.MotionGaps(ev, []string{"cat"}, answer.CPU(), 100))
	require.Empty(t, answer.MotionGaps(ev, ev.Terms, answer.CPU(), 0))
}

// detected is a box of a tenth of the frame, by its left end.
func detected(term int, x, score float64) evidence.Detection {
	return evidence.Detection{Term: term, Score: score, Box: evidence.Box{X1: x, Y1: .4, X2: x + .1, Y2: .6}}
}
