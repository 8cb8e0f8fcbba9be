package answer_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
)

// crowded is a frame that generates its detections at each call: 60 people with keypoints
// and colors. It calls measure meanwhile.
type crowded struct {
	seed    uint64
	measure func()
}

// Load implements evidence.Source.
func (c crowded) Load(bool) ([]evidence.Detection, []byte) {
	r := rand.New(rand.NewPCG(c.seed, 0))
	all := make([]evidence.Detection, 60)
	for k := range all {
		x, y := .095*float64(k%10)+.004*r.Float64(), .15*float64(k/10)+.004*r.Float64()
		all[k] = evidence.Detection{
			Score: .3 + .01*float64(k), Box: evidence.Box{X1: x, Y1: y, X2: x + .05, Y2: y + .13},
			Keypoints: make([]evidence.Keypoint, 17), Colors: make([]float32, 55),
		}
		for j := range all[k].Keypoints {
			all[k].Keypoints[j] = evidence.Keypoint{X: x + .05*r.Float64(), Y: y + .0076*float64(j), Score: r.Float64()}
		}
	}
	if c.measure != nil {
		c.measure()
	}
	return all, nil
}

// TestACrowdIsNeverHeld: while a question about a crowd is answered, each object takes a
// few numbers in memory. The 60 detections of a frame would take 44 kB.
func TestACrowdIsNeverHeld(t *testing.T) {
	const frames = 1200
	for prompt, most := range map[string]float64{
		"How many people are there?": 2000, "Is there a person in a red shirt?": 9000, "Is anybody sitting?": 9000, "Does anybody jump?": 18000,
	} {
		q := english.Compile(prompt)
		live := func() float64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc)
		}
		ev := evidence.Evidence{Terms: []string{"person"}, Known: []bool{true}, Colors: make([]string, 55), IntervalS: .5, DurationS: frames / 2}
		for i := range frames {
			ev.Frames = append(ev.Frames, evidence.Frame{At: float64(i) / 2, Source: crowded{seed: uint64(i)}})
		}
		before, peak := live(), 0.
		for _, i := range []int{frames / 2, frames - 1} {
			ev.Frames[i].Source = crowded{uint64(i), func() { peak = max(peak, live()-before) }}
		}
		require.Positive(t, answer.Decide(q, ev, answer.CPU()).TermConfidences["person"], prompt)
		require.Positive(t, peak, "it was measured while the question was answered")
		t.Log(prompt, peak/frames)
		require.Less(t, peak/frames, most, "bytes a frame: %s", prompt)
	}
}
