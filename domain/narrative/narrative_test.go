package narrative_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/narrative"
	"vqa/domain/query/vocabulary"
)

// testVideo is a video with two samples a second, into which a test puts objects.
type testVideo struct {
	frames [][]evidence.Detection
	// background is the place of the camera at each sample, in widths of the frame; nil for an unknown one.
	background func(i int) float64
}

func newVideo(n int) *testVideo { return &testVideo{frames: make([][]evidence.Detection, n)} }

// filmed sets the place of the camera.
func (r *testVideo) filmed(place func(i int) float64) *testVideo {
	r.background = place
	return r
}

// cutAt changes the scene at a sample.
func (r *testVideo) cutAt(sample int) *testVideo {
	return r.filmed(func(i int) float64 { return map[bool]float64{true: 70}[i >= sample] })
}

// shadesAt is the picture of an endless wall by a camera at a place.
func shadesAt(place float64) []byte {
	shades := make([]byte, evidence.Cells*evidence.Cells)
	for i := range shades {
		x, y := place+(float64(i%evidence.Cells)+.5)/evidence.Cells, (float64(i/evidence.Cells)+.5)/evidence.Cells
		shade := 15 + 6*math.Sin(9*x+4*y) + 5*math.Sin(23*x-17*y) + 4*math.Sin(41*y+8*x)
		shades[i] = byte(min(max(shade, 0), evidence.MaxShade))
	}
	return shades
}

// place is a box of a fifth of the frame's width around a center.
func place(x, y float64) evidence.Box {
	return evidence.Box{X1: max(x-.1, 0), Y1: y - .1, X2: min(x+.1, 1), Y2: y + .1}
}

var coco = vocabulary.COCO().Names()

// put shows an object in the samples from first to last. It moves evenly across the frame from
// one place to another.
func (r *testVideo) put(class string, score float64, first, last int, from, to, y float64) *testVideo {
	for i := first; i <= last; i++ {
		x := from
		if last > first {
			x += (to - from) * float64(i-first) / float64(last-first)
		}
		r.frames[i] = append(r.frames[i], evidence.Detection{Term: slices.Index(coco, class), Score: score, Box: place(x, y)})
	}
	return r
}

// still shows an object that stays at one place.
func (r *testVideo) still(class string, first, last int, x float64) *testVideo {
	return r.put(class, .7, first, last, x, x, .5)
}

func (r *testVideo) evidence() evidence.Evidence {
	ev := evidence.Evidence{Terms: coco, Known: slices.Repeat([]bool{true}, len(coco)), IntervalS: .5, DurationS: float64(len(r.frames)) / 2}
	for i, d := range r.frames {
		f := evidence.Frame{At: float64(i) / 2, Detections: d}
		if r.background != nil {
			f.Shades = shadesAt(r.background(i))
		}
		ev.Frames = append(ev.Frames, f)
	}
	return ev
}

func TestWrite(t *testing.T) {
	t.Parallel()
	type entries = []narrative.Entry
	tests := map[string]struct {
		video *testVideo
		want  entries
	}{
		"no samples": {newVideo(0), entries{{0, "No frame of the video was examined."}}},
		"nothing":    {newVideo(4), entries{{0, "No object in the video can be named with certainty."}}},
		"one":        {newVideo(4).still("umbrella", 0, 3, .5), entries{{0, "An umbrella is in view."}}},
		"several": {
			newVideo(4).still("dog", 0, 3, .2).still("dog", 0, 3, .5).still("person", 0, 3, .8).still("bus", 0, 3, .35),
			entries{{0, "A person, a bus and two dogs are in view."}},
		},
		"missed in the first sample": {newVideo(6).still("dog", 1, 5, .5), entries{{0, "A dog is in view."}}},
		"one weak detection":         {newVideo(6).put("dog", .5, 2, 2, .5, .5, .5), entries{{0, "No object in the video can be named with certainty."}}},
		"a lasting weak one":         {newVideo(6).put("dog", .17, 0, 5, .5, .5, .5), entries{{0, "No object in the video can be named with certainty."}}},
		"appears and disappears": {
			newVideo(12).still("cat", 4, 8, .5),
			entries{{0, "At first no object in view can be named with certainty."}, {2, "A cat appears."}, {4.5, "The cat is no longer visible."}},
		},
		"hidden for a moment": {newVideo(12).still("cat", 0, 4, .5).still("cat", 8, 11, .5), entries{{0, "A cat is in view."}}},
		"hidden for longer": {
			newVideo(16).still("cat", 0, 3, .5).still("cat", 12, 15, .5),
			entries{{0, "A cat is in view."}, {2, "The cat is no longer visible."}, {6, "A cat appears."}},
		},
		"crosses": {
			newVideo(14).still("bench", 0, 13, .5).put("dog", .7, 3, 10, .02, .98, .8),
			entries{{0, "A bench is in view."}, {1.5, "A dog enters from the left."}, {5, "The dog leaves to the right."}},
		},
		"moves about": {
			newVideo(16).put("dog", .7, 0, 5, .2, .7, .5).put("dog", .7, 6, 15, .65, .25, .5),
			entries{{0, "A dog is in view."}, {0, "The dog moves to the right."}, {2.5, "The dog moves to the left."}},
		},
		"a third": {
			newVideo(12).still("bottle", 0, 11, .1).still("bottle", 0, 5, .4).still("bottle", 3, 11, .7),
			entries{{0, "Two bottles are in view."}, {1.5, "A third bottle appears."}, {3, "One of the three bottles is no longer visible."}},
		},
		"two at once": {
			newVideo(12).still("car", 0, 11, .1).put("car", .7, 4, 7, .35, .35, .5).put("car", .7, 4, 7, .7, .7, .5),
			entries{{0, "A car is in view."}, {2, "Two more cars appear."}, {4, "Two of the three cars are no longer visible."}},
		},
		"both": {
			newVideo(12).still("knife", 0, 6, .1).still("knife", 0, 6, .5),
			entries{{0, "Two knives are in view."}, {3.5, "Both knives are no longer visible."}},
		},
		"a crowd is not counted": {
			newVideo(12).still("sheep", 0, 11, .02).still("sheep", 0, 11, .18).still("sheep", 0, 11, .34).still("sheep", 0, 11, .5).
				still("sheep", 0, 11, .66).still("sheep", 0, 11, .82).still("sheep", 4, 8, .98),
			entries{{0, "Six sheep are in view."}},
		},
		"a cut": {
			newVideo(12).still("cat", 0, 5, .5).still("bus", 6, 11, .5).still("person", 6, 11, .2).cutAt(6),
			entries{{0, "A cat is in view."}, {3, "The scene changes: a person and a bus are in view."}},
		},
		"a cut between people": {
			newVideo(12).still("person", 0, 5, .2).still("person", 0, 5, .8).
				put("person", .7, 6, 11, 0, 0, .5).put("person", .7, 6, 11, 1, 1, .5).cutAt(6), // half of each is in the frame
			entries{{0, "Two people are in view."}, {3, "The scene changes: two people are in view."}},
		},
		"two that move fast": {
			newVideo(10).put("kite", .7, 0, 9, .1, .9, .2).put("kite", .7, 0, 9, .9, .1, .8),
			entries{{0, "Two kites are in view."}, {0, "One of the two kites moves to the left."}, {0, "One of the two kites moves to the right."}},
		},
		"a jump, not a cut": {newVideo(12).still("dog", 0, 5, .1).still("dog", 6, 11, .9), entries{{0, "A dog is in view."}}},
		"the camera turns": {
			newVideo(12).put("car", .7, 0, 11, .2, .6, .5).put("bench", .7, 0, 11, .4, .8, .5).
				filmed(func(i int) float64 { return -.4 * float64(i) / 11 }),
			entries{{0, "A bench and a car are in view."}},
		},
		"a car or a truck": {
			newVideo(4).put("car", .6, 0, 3, .5, .5, .5).put("truck", .55, 0, 3, .5, .5, .5),
			entries{{0, "A car is in view."}},
		},
		"a truck or a car": {
			newVideo(4).put("car", .55, 0, 3, .5, .5, .5).put("truck", .6, 0, 3, .5, .5, .5),
			entries{{0, "A car is in view."}},
		},
		"a cat or a dog": {
			newVideo(4).put("cat", .55, 0, 3, .5, .5, .5).put("dog", .6, 0, 3, .5, .5, .5),
			entries{{0, "No object in the video can be named with certainty."}},
		},
		"a dog, hardly a cat": {
			newVideo(4).put("cat", .2, 0, 3, .5, .5, .5).put("dog", .6, 0, 3, .5, .5, .5),
			entries{{0, "A dog is in view."}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, narrative.Write(tt.video.evidence(), answer.CPU())))
		})
	}
}

// TestUnmeasured checks that the highest probability of an unmeasured model is enough.
func TestUnmeasured(t *testing.T) {
	t.Parallel()
	ev := newVideo(4).still("dog", 0, 3, .2).put("cat", .4, 0, 3, .8, .8, .5).evidence()
	require.Empty(t, cmp.Diff([]narrative.Entry{{0, "A dog is in view."}}, narrative.Write(ev, answer.Unmeasured())))
}

func TestUpAndDown(t *testing.T) {
	t.Parallel()
	ev := newVideo(12).evidence()
	for i := range ev.Frames {
		y := .75 - .15*float64(i) // leaves at the top after five samples
		if box := (evidence.Box{X1: .4, Y1: max(y-.25, 0), X2: .6, Y2: y}); y > 0 {
			ev.Frames[i].Detections = []evidence.Detection{{Term: slices.Index(coco, "kite"), Score: .7, Box: box}}
		}
	}
	require.Empty(t, cmp.Diff([]narrative.Entry{{0, "A kite is in view."}, {2, "The kite leaves at the top."}},
		narrative.Write(ev, answer.CPU())))
}

// standing and sitting are the heights of hips, knees and ankles in the box.
var standing, sitting = [3]float64{.5, .72, .95}, [3]float64{.65, .7, .95}

// person is a person whose box has its center at x.
func person(x float64, legs [3]float64) evidence.Detection {
	box := evidence.Box{X1: x - .1, Y1: .1, X2: x + .1, Y2: .9}
	d := evidence.Detection{Term: 0, Score: .8, Box: box, Keypoints: make([]evidence.Keypoint, 17)}
	heights := []float64{0, 0, 0, 0, 0, .2, .2, .35, .35, .5, .5, legs[0], legs[0], legs[1], legs[1], legs[2], legs[2]}
	for i, h := range heights {
		side := float64(i%2)*.06 - .03
		d.Keypoints[i] = evidence.Keypoint{X: x + side, Y: box.Y1 + h*(box.Y2-box.Y1), Score: .9}
	}
	return d
}

func TestPostures(t *testing.T) {
	t.Parallel()
	ev := newVideo(12).evidence()
	for i := range ev.Frames {
		legs := standing
		if i >= 4 && i < 9 || i == 1 { // seen in one sample only
			legs = sitting
		}
		ev.Frames[i].Detections = []evidence.Detection{person(.3, legs), person(.7, standing)}
	}
	require.Empty(t, cmp.Diff([]narrative.Entry{
		{0, "Two people are in view."}, {2, "One of the two people sits down."}, {4.5, "One of the two people stands up."},
	}, narrative.Write(ev, answer.CPU())))
}

func TestLongNarrativesKeepWhatStays(t *testing.T) {
	t.Parallel()
	r := newVideo(4000).still("person", 100, 1000, .5)
	for i := 0; i+12 < len(r.frames); i += 12 {
		r.put("dog", .7, i, i+2, .2, .2, .5)
	}
	got := narrative.Write(r.evidence(), answer.CPU())
	require.Len(t, got, narrative.MaxEntries)
	require.Contains(t, got, narrative.Entry{AtS: 50, Text: "A person appears."})
	require.Contains(t, got, narrative.Entry{AtS: 500.5, Text: "The person is no longer visible."})
}

// TestAnyEvidence checks the guarantees of the package for any report of a model.
func TestAnyEvidence(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(.3, .8), rapid.SampledFrom([]float64{
		math.NaN(), math.Inf(1), math.Inf(-1), -1, 2, 0,
	}))
	rapid.Check(t, func(t *rapid.T) {
		ev := evidence.Evidence{
			Terms:     rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]string{"person", "dog", "car", "truck", ""}), rapid.String()), 0, 5).Draw(t, "terms"),
			IntervalS: rapid.SampledFrom([]float64{.5, .5, .5, 1, 10, 0, -1, math.NaN(), math.Inf(1)}).Draw(t, "interval"),
			DurationS: rapid.SampledFrom([]float64{5, 60, .04, 0, -1, math.NaN(), math.Inf(1)}).Draw(t, "duration"),
		}
		for i := range rapid.IntRange(0, 30).Draw(t, "frames") {
			f := evidence.Frame{At: float64(i) / 2}
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				f.At = number.Draw(t, "at")
			}
			for range rapid.IntRange(0, 4).Draw(t, "detections") {
				d := person(rapid.Float64Range(0, 1).Draw(t, "place"), rapid.SampledFrom([][3]float64{standing, sitting}).Draw(t, "legs"))
				d.Term, d.Score = rapid.IntRange(-1, 5).Draw(t, "term"), number.Draw(t, "score")
				if rapid.IntRange(0, 3).Draw(t, "box") == 0 {
					d.Box = evidence.Box{X1: number.Draw(t, "x1"), Y1: number.Draw(t, "y1"), X2: number.Draw(t, "x2"), Y2: number.Draw(t, "y2")}
				}
				f.Detections = append(f.Detections, d)
			}
			ev.Frames = append(ev.Frames, f)
		}
		got := narrative.Write(ev, answer.CPU())
		require.Empty(t, cmp.Diff(got, narrative.Write(ev, answer.CPU())), "the same evidence must give the same text")
		require.NotEmpty(t, got)
		require.LessOrEqual(t, len(got), narrative.MaxEntries)
		require.Zero(t, got[0].AtS)
		for i, e := range got {
			require.True(t, i == 0 || got[i-1].AtS <= e.AtS, "in order")
			if ev.DurationS > 0 {
				require.LessOrEqual(t, e.AtS, ev.DurationS)
			}
			require.Less(t, len(e.Text), narrative.MaxLen)
			require.True(t, strings.HasSuffix(e.Text, ".") && strings.ToUpper(e.Text[:1]) == e.Text[:1], e.Text)
			require.False(t, strings.ContainsFunc(e.Text, func(r rune) bool { return r < ' ' || r > '~' }), e.Text)
		}
	})
}
