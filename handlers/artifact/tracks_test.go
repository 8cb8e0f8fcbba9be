package artifact

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const intervalS = 0.5

func boxAt(x float64) evidence.Box { return evidence.Box{X1: x, Y1: .4, X2: x + .1, Y2: .6} }

func evidenceOf(frames ...evidence.Frame) evidence.Evidence {
	return evidence.Evidence{Terms: []string{"dog", "cat", "car"}, Known: []bool{true, true, true}, IntervalS: intervalS, DurationS: 10, Frames: frames}
}

func frame(at float64, seen ...evidence.Detection) evidence.Frame {
	return evidence.Frame{At: at, Detections: seen}
}

func input(ev evidence.Evidence, terms ...string) Input {
	return Input{Evidence: ev, Terms: terms, Calibration: answer.CPU(), Question: "Is there a dog?"}
}

func TestPointsAreDetectionsThatCount(t *testing.T) {
	t.Parallel()
	in := input(evidenceOf(frame(0,
		evidence.Detection{Term: 0, Box: boxAt(.1), Score: .4},
		evidence.Detection{Term: 1, Box: boxAt(.1), Score: .9},                                   // the dog, detected as a cat too
		evidence.Detection{Term: 2, Box: boxAt(.5), Score: .9},                                   // not asked for
		evidence.Detection{Term: 0, Box: boxAt(.7), Score: .1},                                   // too weak
		evidence.Detection{Term: 0, Box: evidence.Box{X1: -1, Y1: .1, X2: .2, Y2: 3}, Score: .5}, // over the edge
	)), "dog", "cat")
	got := pointsBySample(tracksOf(in))
	require.Len(t, got, 1)
	require.Len(t, got[0], 2)
	dog, cat := got[0][0], got[0][1]
	require.Equal(t, []string{"dog", "cat"}, []string{dog.term, cat.term}, "the most probable first")
	require.Greater(t, dog.p, cat.p)
	require.Greater(t, cat.p, .8)
	require.InDelta(t, .2, dog.box.X2, 1e-6)
	require.Zero(t, dog.box.X1, "boxes are cut to the frame")
	require.InDelta(t, 1, dog.box.Y2, 1e-6)
}

func TestTracksFollowObjects(t *testing.T) {
	t.Parallel()
	dog := func(x float64) evidence.Detection { return evidence.Detection{Box: boxAt(x), Score: .8} }
	in := input(evidenceOf(
		frame(0, dog(.10), dog(.80)),
		frame(.5, dog(.85), dog(.15)), // in another order
		frame(1, dog(.27)),            // moved by more than its width; the other dog was missed
		frame(1.5, dog(.9)),
		frame(5, dog(.9)), // too late to be the same dog
	), "dog")
	tracks := tracksOf(in)
	var at [][]float64
	for _, track := range tracks {
		var times []float64
		for _, p := range track {
			times = append(times, p.atS)
		}
		at = append(at, times)
	}
	require.Equal(t, [][]float64{{0, .5, 1}, {0, .5, 1.5}, {5}}, at)
}

func TestBoxesMoveEvenly(t *testing.T) {
	t.Parallel()
	tr := track{{atS: 1, box: boxAt(.1), p: .4}, {atS: 1.5, box: boxAt(.3), p: .8}}
	for _, test := range []struct {
		at   float64
		seen bool
		x    float64
		p    float64
	}{
		{.7, false, .1, .4}, {.75, true, .1, .4}, {1, true, .1, .4}, {1.125, true, .15, .4}, {1.25, true, .2, .4}, {1.375, true, .25, .8},
		{1.5, true, .3, .8}, {1.75, true, .3, .8}, {1.8, false, .3, .8},
	} {
		got, seen := pointAt(tr, test.at, intervalS)
		require.Equal(t, test.seen, seen, "at %v", test.at)
		require.InDelta(t, test.x, got.box.X1, 1e-9, "at %v", test.at)
		require.InDelta(t, test.x+.1, got.box.X2, 1e-9, "at %v", test.at)
		require.Equal(t, test.p, got.p, "at %v", test.at)
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	clip := func(from, to float64) answer.Clip { return answer.Clip{StartS: from, EndS: to} }
	for _, test := range []struct {
		name      string
		durationS float64
		clips     []answer.Clip
		want      []interval
	}{
		{"a short video is shown completely", 600, []answer.Clip{clip(3, 4)}, []interval{{0, 600}}},
		{"a long one without clips has nothing to show", 601, nil, nil},
		{"its clips with their surroundings", 7200, []answer.Clip{clip(1, 4), clip(100, 110), clip(7195, 7200)}, []interval{{0, 6}, {98, 112}, {7193, 7200}}},
		{"neighbors are one", 7200, []answer.Clip{clip(10, 14), clip(17, 20)}, []interval{{8, 22}}},
		{"the length is limited", 7200, []answer.Clip{clip(10, 700), clip(1000, 1001)}, []interval{{8, 608}}},
	} {
		require.Equal(t, test.want, shownIntervals(test.durationS, test.clips), test.name)
	}
}

func TestIntervalsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Float64Range(601, 20000).Draw(t, "duration")
		var clips []answer.Clip
		for from := 0.0; len(clips) < 60; {
			from += rapid.Float64Range(0.1, 300).Draw(t, "from")
			to := from + rapid.Float64Range(0.1, 300).Draw(t, "length")
			if to > duration {
				break
			}
			clips, from = append(clips, answer.Clip{StartS: from, EndS: to}), to
		}
		total, last := 0.0, 0.0
		for _, s := range shownIntervals(duration, clips) {
			if s.startS < last || s.endS < s.startS+minIntervalS/2 || s.endS > duration {
				t.Fatalf("interval %v after %v in %v s", s, last, duration)
			}
			total, last = total+s.endS-s.startS, s.endS
		}
		if total > maxOutputS+1e-6 {
			t.Fatalf("the intervals have %v s", total)
		}
	})
}

func TestTilesAreTheSurestClips(t *testing.T) {
	t.Parallel()
	var frames []evidence.Frame
	in := input(evidence.Evidence{}, "dog")
	for i := range 20 {
		at := float64(10 * i)
		frames = append(frames,
			frame(at, evidence.Detection{Box: boxAt(.1), Score: .5}), frame(at+.5, evidence.Detection{Box: boxAt(.2), Score: .5 + float64(i)/100}))
		in.Result.Clips = append(in.Result.Clips, answer.Clip{StartS: at, EndS: at + 1, Confidence: float64(i%19) / 100})
	}
	in.Evidence = evidenceOf(frames...)
	tiles := tilesOf(in, pointsBySample(tracksOf(in)))
	require.Len(t, tiles, maxTiles)
	for i, tile := range tiles {
		require.Equal(t, 70+float64(10*i), tile.clip.StartS)
		require.Equal(t, tile.clip.StartS+.5, tile.atS, "the better of the two samples")
		require.Len(t, tile.objects, 1)
	}
}
