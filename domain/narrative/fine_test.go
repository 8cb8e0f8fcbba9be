package narrative_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/narrative"
)

// TestFineSamplesGiveExactTimes shows a cat from 1.75 s to 4.25 s, in the samples from 2 s to 4
// s, with different fine samples in between.
func TestFineSamplesGiveExactTimes(t *testing.T) {
	t.Parallel()
	shows := func(at float64, class string, score, x float64) evidence.Frame {
		return evidence.Frame{At: at, Detections: []evidence.Detection{{Term: slices.Index(coco, class), Score: score, Box: place(x, .5)}}}
	}
	cat := func(at float64) evidence.Frame { return shows(at, "cat", .7, .5) }
	first := narrative.Entry{Text: "At first no object in view can be named with certainty."}
	for name, tt := range map[string]struct {
		fine       []evidence.Frame
		came, gone float64
	}{
		"none":         {nil, 2, 4.5},
		"all":          {[]evidence.Frame{{At: 1.625}, cat(1.75), cat(1.875), cat(4.125), cat(4.25), {At: 4.375}}, 1.75, 4.375},
		"in any order": {[]evidence.Frame{{At: 4.375}, cat(4.25), cat(4.125), cat(1.875), cat(1.75), {At: 1.625}}, 1.75, 4.375},
		"seen in each": {[]evidence.Frame{cat(1.625), cat(1.75), cat(1.875), cat(4.125), cat(4.25), cat(4.375)}, 1.625, 4.5},
		"other cats":   {[]evidence.Frame{shows(1.875, "cat", .7, .9), shows(4.125, "cat", .7, .1)}, 2, 4.125},
		"other kinds":  {[]evidence.Frame{shows(1.875, "dog", .7, .5), shows(4.125, "dog", .7, .5)}, 2, 4.125},
		"too weak":     {[]evidence.Frame{shows(1.875, "cat", .01, .5), shows(4.125, "cat", .01, .5)}, 2, 4.125},
		"elsewhere":    {[]evidence.Frame{cat(.5), cat(3.25), cat(5.25)}, 2, 4.5},
	} {
		ev := newVideo(12).still("cat", 4, 8, .5).evidence()
		ev.Fine = tt.fine
		want := []narrative.Entry{first, {AtS: tt.came, Text: "A cat appears."}, {AtS: tt.gone, Text: "The cat is no longer in view."}}
		if diff := cmp.Diff(want, narrative.Write(ev, answer.CPU())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
