package answer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// detected is a detection of a class at a place along the frame.
func detected(term int, x, score float64) evidence.Detection {
	return evidence.Detection{Term: term, Score: score, Box: evidence.Box{X1: x, Y1: .4, X2: x + .2, Y2: .6}}
}

func TestTracks(t *testing.T) {
	t.Parallel()
	const dog, car, truck = 0, 1, 2
	type ds = []evidence.Detection
	type track struct {
		From, To float64
		Sights   int
		Term     int
		Trusted  bool
	}
	all := []string{"dog", "car", "truck"}
	tests := map[string]struct {
		frames  []ds
		classes []string
		want    []track
	}{
		"one":                            {[]ds{{detected(dog, .1, .4)}, {detected(dog, .2, .4)}, {detected(dog, .3, .4)}}, all, []track{{0, 1, 3, dog, true}}},
		"missed once":                    {[]ds{{detected(dog, .1, .4)}, {detected(dog, .1, .4)}, nil, {detected(dog, .1, .4)}}, all, []track{{0, 1.5, 3, dog, true}}},
		"missed twice":                   {[]ds{{detected(dog, .1, .6)}, nil, nil, {detected(dog, .1, .6)}}, all, []track{{0, 0, 1, dog, true}, {1.5, 1.5, 1, dog, true}}},
		"two side by side":               {[]ds{{detected(dog, .1, .4), detected(dog, .6, .5)}, {detected(dog, .6, .4), detected(dog, .1, .5)}}, all, []track{{0, .5, 2, dog, true}, {0, .5, 2, dog, true}}},
		"too far for one":                {[]ds{{detected(dog, 0, .6)}, {detected(dog, .8, .6)}}, all, []track{{0, 0, 1, dog, true}, {.5, .5, 1, dog, true}}},
		"weak":                           {[]ds{{detected(dog, .1, .26)}, {detected(dog, .1, .29)}}, all, []track{{0, .5, 2, dog, false}}},
		"too weak":                       {[]ds{{detected(dog, .1, .15)}, {detected(dog, .1, .15)}}, all, nil},
		"one good detection":             {[]ds{{detected(dog, .1, .5)}, nil}, all, []track{{0, 0, 1, dog, false}}},
		"one frame":                      {[]ds{{detected(dog, .1, .31)}}, all, []track{{0, 0, 1, dog, true}}},
		"two classes at one place":       {[]ds{{detected(car, .1, .5), detected(truck, .1, .4)}, {detected(car, .1, .4), detected(truck, .1, .45)}}, all, []track{{0, .5, 2, car, true}}},
		"two classes of a moving object": {[]ds{{detected(car, .1, .5), detected(truck, .1, .4)}, {detected(truck, .25, .4)}}, all, []track{{0, .5, 2, car, true}}},
		"two objects":                    {[]ds{{detected(car, .1, .5)}, {detected(dog, .25, .4)}}, all, []track{{0, 0, 1, car, false}, {.5, .5, 1, dog, false}}},
		"of one class only":              {[]ds{{detected(car, .1, .6), detected(dog, .6, .6)}}, []string{"dog"}, []track{{0, 0, 1, dog, true}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := evidence.Evidence{Terms: all, Known: []bool{true, true, true}, IntervalS: .5}
			for i, d := range tt.frames {
				ev.Frames = append(ev.Frames, evidence.Frame{At: float64(i) / 2, Detections: d})
			}
			var got []track
			for _, tr := range answer.Tracks(ev, answer.CPU(), tt.classes) {
				got = append(got, track{tr.Points[0].At, tr.Points[len(tr.Points)-1].At, len(tr.Points), tr.Term(), tr.Trusted})
			}
			require.Empty(t, cmp.Diff(tt.want, got))
		})
	}
}

// TestTracksOfTwoGrids: fine frames between the samples show the same objects.
func TestTracksOfTwoGrids(t *testing.T) {
	t.Parallel()
	ev := evidence.Evidence{Terms: []string{"dog"}, Known: []bool{true}, IntervalS: .5}
	add := func(atS float64) {
		ev.Frames = append(ev.Frames, evidence.Frame{At: atS, Detections: []evidence.Detection{detected(0, .1+.3*atS, .5), detected(0, .8, .4)}})
	}
	for i := range 4 {
		add(float64(i) / 2)
	}
	for i := range 3 {
		add(.5 + float64(i+1)/8)
	}
	tracks := answer.Tracks(ev, answer.CPU(), ev.Terms)
	require.Len(t, tracks, 2)
	for k, speed := range []float64{.3, 0} {
		require.Len(t, tracks[k].Points, 7)
		for i, s := range tracks[k].Points[1:] {
			require.InDelta(t, speed*(s.At-tracks[k].Points[i].At), s.Box.X1-tracks[k].Points[i].Box.X1, 1e-9)
		}
	}
}

// TestTracksInACrowd: a person who is far from the last place may be anybody, if another
// one may have come from there.
func TestTracksInACrowd(t *testing.T) {
	t.Parallel()
	at := func(x float64) evidence.Detection {
		return evidence.Detection{Score: .5, Box: evidence.Box{X1: x, Y1: .4, X2: x + .02, Y2: .5}}
	}
	sights := func(frames ...[]evidence.Detection) int {
		ev := evidence.Evidence{Terms: []string{"dog"}, Known: []bool{true}, IntervalS: .5}
		for i, ds := range frames {
			ev.Frames = append(ev.Frames, evidence.Frame{At: float64(i) / 2, Detections: ds})
		}
		return len(answer.Tracks(ev, answer.CPU(), ev.Terms)[0].Points)
	}
	type ds = []evidence.Detection
	require.Equal(t, 2, sights(ds{at(.2)}, ds{at(.28)}))
	require.Equal(t, 2, sights(ds{at(.2)}, ds{at(.21), at(.28)}))
	require.Equal(t, 1, sights(ds{at(.2)}, ds{at(.28), at(.13)}), "either may be it")
	require.Equal(t, 1, sights(ds{at(.2), at(.34)}, ds{at(.28)}), "it may be either")
}

// TestTracksOfAnyEvidence: tracks are in order, and the order of the detections does not
// matter.
func TestTracksOfAnyEvidence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := evidences(t, query.Compile("Is there a dog?"))
		tracks := answer.Tracks(ev, answer.CPU(), ev.Terms)
		last := -1.0
		for _, tr := range tracks {
			require.NotEmpty(t, tr.Points)
			require.GreaterOrEqual(t, tr.Points[0].At, last)
			last = tr.Points[0].At
			for i, s := range tr.Points {
				for _, c := range []float64{s.Box.X1, s.Box.Y1, s.Box.X2, s.Box.Y2, s.Score} {
					unit(t, c)
				}
				require.True(t, i == 0 || s.At > tr.Points[i-1].At, "one point in a frame")
				require.GreaterOrEqual(t, s.Score, answer.CPU().Keep)
			}
			require.Contains(t, terms(tr), tr.Term())
		}
		order := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "order")))
		for i, f := range ev.Frames {
			f.Detections = slices.Clone(f.Detections)
			order.Shuffle(len(f.Detections), func(a, b int) { f.Detections[a], f.Detections[b] = f.Detections[b], f.Detections[a] })
			ev.Frames[i] = f
		}
		again := answer.Tracks(ev, answer.CPU(), ev.Terms)
		require.Empty(t, cmp.Diff(boxes(tracks), boxes(again), cmpopts.EquateNaNs()))
	})
}

func terms(t answer.Track) []int {
	var all []int
	for _, s := range t.Points {
		all = append(all, s.Term)
	}
	return all
}

func boxes(tracks []answer.Track) [][]evidence.Box {
	var all [][]evidence.Box
	for _, t := range tracks {
		var track []evidence.Box
		for _, s := range t.Points {
			track = append(track, s.Box)
		}
		all = append(all, track)
	}
	return all
}
