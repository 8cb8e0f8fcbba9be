package answer_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// fineFrame is a fine frame: its time, and the scores of the class of the question.
type fineFrame struct {
	at     float64
	scores frame
}

// finely adds fine frames to evidence.
func finely(ev evidence.Evidence, term int, looks ...fineFrame) evidence.Evidence {
	for _, l := range looks {
		f := evidence.Frame{At: l.at}
		for k, s := range l.scores {
			f.Detections = append(f.Detections, evidence.Detection{Term: term, Score: s, Box: place(k)})
		}
		ev.Fine = append(ev.Fine, f)
	}
	slices.SortFunc(ev.Fine, func(a, b evidence.Frame) int {
		if a.At < b.At {
			return -1
		}
		return 1
	})
	return ev
}

// clips are the edges of the clips of a result.
func clips(r answer.Result) [][2]float64 {
	var list [][2]float64
	for _, c := range r.Clips {
		list = append(list, [2]float64{c.StartS, c.EndS})
	}
	return list
}

// TestFineFramesRefineTheEdges: the samples show the dog from 1.0 to 2.0 s.
func TestFineFramesRefineTheEdges(t *testing.T) {
	t.Parallel()
	dog := frame{.8}
	cases := map[string]struct {
		looks []fineFrame
		want  [2]float64
	}{
		"none": {nil, [2]float64{.75, 2.25}},
		"it comes between .625 and .75, and goes between 2.375 and 2.5": {
			[]fineFrame{{.625, nil}, {.75, dog}, {.875, dog}, {2.125, dog}, {2.25, dog}, {2.375, dog}},
			[2]float64{.688, 2.438},
		},
		"it comes right after .5, and goes right after 2": {
			[]fineFrame{{.625, dog}, {.75, dog}, {.875, dog}, {2.125, nil}, {2.25, nil}, {2.375, nil}},
			[2]float64{.563, 2.063},
		},
		"a weak detection continues a run, one below Keep does not": {
			[]fineFrame{{.75, frame{.05}}, {.875, frame{.17}}, {2.125, frame{.17}}, {2.25, frame{.05}}},
			[2]float64{.813, 2.188},
		},
	}
	for name, c := range cases {
		q, ev := seen("Is there a dog?", frame{}, frame{}, dog, dog, dog, frame{}, frame{})
		r := answer.Decide(q, finely(ev, 0, c.looks...), answer.CPU())
		require.Empty(t, cmp.Diff([][2]float64{c.want}, clips(r)), name)
	}
}

// TestFineEdgesOfSeveral: both subjects must be visible, or two of one kind.
func TestFineEdgesOfSeveral(t *testing.T) {
	t.Parallel()
	one, two := frame{.8}, frame{.8, .8}
	q, ev := seen("Are there at least two dogs and a cat?", one, one, two, two, two, one, one)
	require.Equal(t, "cat", ev.Terms[1])
	for i := range ev.Frames {
		ev.Frames[i].Detections = append(ev.Frames[i].Detections, evidence.Detection{Term: 1, Score: .8, Box: place(5)})
	}
	ev = finely(ev, 0, fineFrame{.625, one}, fineFrame{.75, two}, fineFrame{.875, two}, fineFrame{2.125, two}, fineFrame{2.25, two}, fineFrame{2.375, two})
	for i := range ev.Fine {
		if ev.Fine[i].At != 2.375 {
			ev.Fine[i].Detections = append(ev.Fine[i].Detections, evidence.Detection{Term: 1, Score: .8, Box: place(5)})
		}
	}
	require.Equal(t, [][2]float64{{.688, 2.313}}, clips(answer.Decide(q, ev, answer.CPU())), "a dog was missing before, the cat after")
}

// TestFineEdgesOfConditions: a condition that one frame shows is checked in fine frames
// too.
func TestFineEdgesOfConditions(t *testing.T) {
	t.Parallel()
	at := func(x float64) evidence.Box { return evidence.Box{X1: x, Y1: .5, X2: x + .1, Y2: .9} }
	// The object rests on the left for a second, then runs to the right.
	evidenceFor := func(prompt string) (query.Query, evidence.Evidence) {
		q, ev := seen(prompt, frame{.8}, frame{.8}, frame{.8}, frame{.8}, frame{.8}, frame{.8}, frame{.8})
		for i := range ev.Frames {
			ev.Frames[i].Detections[0].Box = at(.05 + .2*float64(max(0, i-2)))
		}
		for _, t := range []float64{.625, .75, .875, 1.625, 1.75, 1.875} {
			d := evidence.Detection{Score: .8, Box: at(.05 + .4*max(0, t-1))}
			ev.Fine = append(ev.Fine, evidence.Frame{At: t, Detections: []evidence.Detection{d}})
		}
		return q, ev
	}
	q, ev := evidenceFor("When is there a dog on the left?")
	require.Equal(t, [][2]float64{{0, 1.938}}, clips(answer.Decide(q, ev, answer.CPU())), "its middle is at .40 at 1.75 s, and at .45 at 1.875 s")
}

func TestEdgeGaps(t *testing.T) {
	t.Parallel()
	_, ev := seen("Is there a dog and a cat?",
		frame{}, frame{.8}, frame{.8}, frame{}, frame{}, frame{.4}, frame{.5}, frame{}, frame{}, frame{.4}, frame{}, frame{.6})
	for _, i := range []int{1, 2, 3, 4} { // the cat stays from .5 to 2 s
		ev.Frames[i].Detections = append(ev.Frames[i].Detections, evidence.Detection{Term: 1, Score: .9, Box: place(5)})
	}
	cal := answer.CPU()
	comes, goes := answer.Gap{AfterS: 0, BeforeS: .5}, answer.Gap{AfterS: 1, BeforeS: 1.5}
	catGoes, off := answer.Gap{AfterS: 2, BeforeS: 2.5}, answer.Gap{AfterS: 3, BeforeS: 3.5}
	last := answer.Gap{AfterS: 5, BeforeS: 5.5}
	// A flicker at 4.5 s alone is not trusted. It joins the run that begins at 5.5 s.
	flicker := answer.Gap{AfterS: 4, BeforeS: 4.5}
	require.Equal(t, []answer.Gap{comes, goes, catGoes, off, flicker}, answer.EdgeGaps(ev, ev.Terms, cal, 100))
	require.NotContains(t, answer.EdgeGaps(ev, ev.Terms, cal, 100), last)
	require.Equal(t, []answer.Gap{comes, catGoes}, answer.EdgeGaps(ev, ev.Terms, cal, 2), "the cat is surest")
	require.Empty(t, answer.EdgeGaps(ev, ev.Terms, cal, 0))
	require.Empty(t, answer.EdgeGaps(evidence.Evidence{}, nil, cal, 9))
	ev.Frames = slices.Delete(ev.Frames, 3, 4)
	require.NotContains(t, answer.EdgeGaps(ev, ev.Terms, cal, 100), goes, "only neighboring samples have a gap")
}
