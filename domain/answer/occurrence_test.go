package answer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// closely decides about 8 frames per second, of which those of every half second are the
// samples.
func closely(prompt string, frames ...[]thing) answer.Result {
	q := english.Compile(prompt)
	ev := evidence.Evidence{Terms: vocabulary.COCO().Classes(q.SearchTerms...), IntervalS: .5, DurationS: float64(len(frames)) / 8}
	for _, term := range ev.Terms {
		_, known := vocabulary.COCO().Lookup(term)
		ev.Known = append(ev.Known, known)
	}
	for i, things := range frames {
		f := evidence.Frame{At: float64(i) / 8}
		for _, o := range things {
			f.Detections = append(f.Detections, evidence.Detection{Score: o.score, Box: o.box, Keypoints: o.joints})
		}
		if i%4 == 0 {
			ev.Frames = append(ev.Frames, f)
		} else {
			ev.Fine = append(ev.Fine, f)
		}
	}
	return answer.Decide(q, ev, answer.CPU())
}

// raised is the height above the ground of a body at a time. The body jumps for half a
// second at a time, up to height.
func raised(atS, height float64) float64 {
	const flightS = .5
	fromTop := 2*atS/flightS - 1
	return height * max(0, 1-fromTop*fromTop)
}

// performed are the frames of n eighths of a second of one object, which do draws for each
// time. Its box trembles a little, as all boxes do.
func performed(n int, do func(atS float64) thing) [][]thing {
	var frames [][]thing
	for i := range n {
		o := do(float64(i) / 8)
		o.box.X1 += .002 * float64(i%3)
		frames = append(frames, []thing{o})
	}
	return frames
}

// lifted is a figure that is up above the ground, in heights of the frame.
func lifted(f figure, on evidence.Box, up float64) thing {
	on.Y1, on.Y2 = on.Y1-up, on.Y2-up
	return f.in(on)
}

type closeAsk struct {
	prompt string
	want   answer.Answer
	frames [][]thing
}

func checkClosely(t *testing.T, cases map[string]closeAsk) {
	t.Helper()
	for name, c := range cases {
		r := closely(c.prompt, c.frames...)
		require.Equal(t, c.want, r.Answer, "%s: %+v", name, r)
	}
}

func TestJumping(t *testing.T) {
	t.Parallel()
	jump := performed(32, func(atS float64) thing { return lifted(stander, tall, raised(atS-1.5, .1)) })
	dog := performed(32, func(atS float64) thing {
		b := lifted(stander, tall, raised(atS-1.5, .2)).box
		return thing{term: "dog", score: .8, box: b}
	})
	stretch := performed(32, func(atS float64) thing { // the arms go up, and the box with them
		p := stander.in(tall)
		p.box.Y1 -= raised(atS-1.5, .1)
		return p
	})
	squat := performed(32, func(atS float64) thing {
		p := stander.in(tall)
		down := raised(atS-1.5, .2)
		p.box.Y1 += down
		for _, j := range []int{0, 5, 6, 11, 12} {
			p.joints[j].Y += down
		}
		return p
	})
	climbs := performed(32, func(atS float64) thing { return lifted(stander, tall, .1*min(1, max(0, atS-1.5))) })
	tucks := performed(32, func(atS float64) thing { // draws up the legs
		p := stander.in(tall)
		up := raised(atS-1.5, .1)
		p.box.Y2 -= up
		p.joints[15].Y, p.joints[16].Y = p.joints[15].Y-up, p.joints[16].Y-up
		return p
	})
	runs := performed(32, func(atS float64) thing { // bobs
		p := lifted(stander, tall, .012*math.Abs(math.Sin(9*atS)))
		p.box.X1, p.box.X2 = p.box.X1+.03*atS, p.box.X2+.03*atS
		return p
	})
	still := performed(32, func(float64) thing { return lifted(stander, tall, .1) })
	for i := range still {
		still[i][0].box.X1 = tall.X1
	}
	checkClosely(t, map[string]closeAsk{
		"jump":             {"Is anyone jumping?", answer.Yes, jump},
		"nobody":           {"Is nobody jumping?", answer.No, jump},
		"stays":            {"Does someone fall?", answer.No, jump},
		"dog":              {"Does the dog jump?", answer.Yes, dog},
		"in the beginning": {"Does the person jump in the first second?", answer.No, jump},
		"arms":             {"Is anyone jumping?", answer.No, stretch},
		"squat":            {"Is anyone jumping?", answer.No, squat},
		"up a step":        {"Is anyone jumping?", answer.No, climbs},
		"legs":             {"Is anyone jumping?", answer.No, tucks},
		"running":          {"Is anyone jumping?", answer.No, runs},
		"a still picture":  {"Is anyone jumping?", answer.Indeterminate, still},
	})
	stays := performed(32, func(atS float64) thing {
		box := tall
		box.X1 += .002 * math.Mod(8*atS, 3)
		return thing{term: "dog", score: .8, box: box}
	})
	sure, unsure := closely("Is anyone jumping?", squat...), closely("Does the dog jump?", stays...)
	require.Equal(t, answer.No, unsure.Answer)
	require.Greater(t, sure.Confidence, .9)
	r := closely("When does the person jump?", jump...)
	require.Len(t, r.Clips, 1)
	require.InDelta(t, 1.5, r.Clips[0].StartS, .13)
	require.InDelta(t, 2, r.Clips[0].EndS, .13)
	twice := closely("When does the person jump?", performed(48, func(atS float64) thing {
		return lifted(stander, tall, raised(atS-1, .1)+raised(atS-4, .1))
	})...)
	require.Len(t, twice.Clips, 2)
	require.Equal(t, 1, *closely("How many people are jumping?", jump...).DetectedCount)
}

// toppling goes from standing to lying in withinS seconds, from 1.5 s on.
func toppling(withinS float64) [][]thing {
	return performed(40, func(atS float64) thing {
		done := min(1, max(0, (atS-1.5)/withinS))
		box := evidence.Box{X1: .4, Y1: .2 + .5*done, X2: .5 + .25*done, Y2: .85}
		return thing{term: "person", score: .6, box: box}
	})
}

func TestFalling(t *testing.T) {
	t.Parallel()
	bows := performed(40, func(atS float64) thing {
		down := raised((atS-1.5)/4, .3)
		return thing{term: "person", score: .6, box: evidence.Box{X1: .4, Y1: .2 + down, X2: .5 + .3*down, Y2: .85}}
	})
	sits := performed(40, func(atS float64) thing {
		down := .2 * min(1, max(0, atS-1.5))
		return thing{term: "person", score: .6, box: evidence.Box{X1: .4, Y1: .2 + down, X2: .52 + .1*down, Y2: .85}}
	})
	checkClosely(t, map[string]closeAsk{
		"fall":        {"Does someone fall?", answer.Yes, toppling(.75)},
		"no jump":     {"Is anyone jumping?", answer.No, toppling(.75)},
		"lies down":   {"Does someone fall?", answer.No, toppling(4)},
		"bows":        {"Does someone fall?", answer.No, bows},
		"sits down":   {"Does someone fall?", answer.No, sits},
		"after it":    {"Does anyone fall after 3 seconds?", answer.No, toppling(.75)},
		"lies always": {"Does someone fall?", answer.No, toppling(.75)[24:]},
	})
	r := closely("When does the person fall?", toppling(.75)...)
	require.Len(t, r.Clips, 1)
	require.InDelta(t, 1.5, r.Clips[0].StartS, .3)
	require.InDelta(t, 2.25, r.Clips[0].EndS, .5)
}
