package answer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// thing is an object of a scene.
type thing struct {
	term   string
	score  float64
	box    evidence.Box
	colors map[string]float64
	joints []evidence.Keypoint
}

var colorNames = []string{"black", "white", "red", "green", "yellow", "blue", "brown", "orange", "pink", "purple", "gray"}

// columns are the colors that the model reports for some frames. They include quarters when
// one of the frames has such.
func columns(frames [][]thing) []string {
	for _, o := range slices.Concat(frames...) {
		for name := range o.colors {
			if strings.Contains(name, "/") {
				all := slices.Clone(colorNames)
				for _, quarter := range []string{"/1", "/2", "/3", "/4"} {
					for _, c := range colorNames {
						all = append(all, c+quarter)
					}
				}
				return all
			}
		}
	}
	return colorNames
}

// at is a box of a tenth of the frame around a center.
func at(x, y float64) evidence.Box {
	return evidence.Box{X1: x - .05, Y1: y - .05, X2: x + .05, Y2: y + .05}
}

// scene is the answer to a prompt for frames, 2 per second.
func scene(prompt string, frames ...[]thing) answer.Result {
	q := english.Compile(prompt)
	return answer.Decide(q, sampled(q, frames...), answer.CPU())
}

// sampled is the evidence for a query in frames, 2 per second.
func sampled(q query.Query, frames ...[]thing) evidence.Evidence {
	ev := evidence.Evidence{Terms: vocabulary.COCO().Classes(q.SearchTerms...), Colors: columns(frames), IntervalS: .5, DurationS: float64(len(frames)) / 2}
	for _, term := range ev.Terms {
		_, known := vocabulary.COCO().Lookup(term)
		ev.Known = append(ev.Known, known)
	}
	for i, things := range frames {
		f := evidence.Frame{At: float64(i) / 2}
		for _, o := range things {
			d := evidence.Detection{Term: slices.Index(ev.Terms, o.term), Score: o.score, Box: o.box, Keypoints: o.joints}
			if o.colors != nil {
				d.Colors = make([]float32, len(ev.Colors))
				for name, share := range o.colors {
					d.Colors[slices.Index(ev.Colors, name)] = float32(share)
				}
			}
			f.Detections = append(f.Detections, d)
		}
		ev.Frames = append(ev.Frames, f)
	}
	return ev
}

// still is n equal frames.
func still(n int, things ...thing) [][]thing {
	frames := make([][]thing, n)
	for i := range frames {
		frames[i] = things
	}
	return frames
}

type ask struct {
	prompt string
	want   answer.Answer
	frames [][]thing
}

func check(t *testing.T, cases []ask) {
	t.Helper()
	for _, c := range cases {
		r := scene(c.prompt, c.frames...)
		require.Equal(t, c.want, r.Answer, "%s %+v", c.prompt, r)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	left := still(6, thing{term: "dog", score: .8, box: at(.2, .5)})
	corner := still(6, thing{term: "dog", score: .8, box: at(.8, .9)})
	border := still(6, thing{term: "dog", score: .8, box: at(.4, .5)})
	check(t, []ask{
		{"Is there a dog on the left?", answer.Yes, left},
		{"Is there a dog on the right?", answer.No, left},
		{"Is there a dog in the middle?", answer.No, left},
		{"Is there no dog on the left?", answer.No, left},
		{"Is there no dog on the right?", answer.Yes, left},
		{"Is the dog not on the left?", answer.No, left},
		{"Is there a dog in the bottom right corner?", answer.Yes, corner},
		{"Is there a dog in the top right corner?", answer.No, corner},
		{"Is there a dog on the left?", answer.Indeterminate, border},
		{"Is there a cat on the left?", answer.No, left},
		{"Is there a unicorn on the left?", answer.Indeterminate, left},
	})
	require.Empty(t, scene("Is there a dog on the left?", left...).Clips, "rule 6 lists no clips for a location")
}

func TestLocationFollowsTheObject(t *testing.T) {
	t.Parallel()
	var across [][]thing
	for i := range 10 {
		across = append(across, []thing{{term: "dog", score: .8, box: at(.1+.09*float64(i), .5)}})
	}
	check(t, []ask{
		{"Is there a dog on the left?", answer.Yes, across},
		{"Is there a dog on the right?", answer.Yes, across},
		{"Is there a dog at the top?", answer.No, across},
		{"Are there at least two dogs on the left?", answer.No, across},
	})
}

// TestColorInTheLight: shade, sky and dark parts change the names of pixels' colors.
func TestColorInTheLight(t *testing.T) {
	t.Parallel()
	ask := func(color string, shares map[string]float64) answer.Answer {
		frames := still(6, thing{term: "car", score: .8, box: at(.5, .5), colors: shares})
		return scene("Is there a "+color+" car?", frames...).Answer
	}
	cases := map[string]struct {
		shares  map[string]float64
		yes, no []string
	}{
		"gray under the sky":   {map[string]float64{"gray": .55, "blue": .1, "black": .15}, []string{"gray"}, []string{"blue", "white"}},
		"blue with windows":    {map[string]float64{"blue": .43, "black": .3, "gray": .2, "white": .07}, []string{"blue"}, []string{"white"}},
		"black with some blue": {map[string]float64{"black": .7, "blue": .05, "gray": .1}, []string{"black"}, []string{"blue", "gray"}},
		"brown, half in shade": {map[string]float64{"brown": .35, "black": .6, "gray": .05}, []string{"brown"}, []string{"gray", "white"}},
		"pink":                 {map[string]float64{"pink": .8, "red": .05, "white": .15}, []string{"pink"}, []string{"red", "white"}},
		"between two names":    {map[string]float64{"yellow": .5, "green": .48}, []string{"green", "yellow"}, []string{"orange"}},
	}
	for name, c := range cases {
		for _, color := range c.yes {
			require.Equal(t, answer.Yes, ask(color, c.shares), "%s is %s", name, color)
		}
		for _, color := range c.no {
			require.Equal(t, answer.No, ask(color, c.shares), "%s is not %s", name, color)
		}
	}
}

func TestColor(t *testing.T) {
	t.Parallel()
	car := func(colors map[string]float64) thing {
		return thing{term: "car", score: .7, box: at(.5, .5), colors: colors}
	}
	red := still(6, car(map[string]float64{"red": .6, "black": .3, "gray": .1}))
	shaded := still(6, car(map[string]float64{"white": .5, "gray": .3, "black": .2}))
	none := still(6, car(nil))
	check(t, []ask{
		{"Is there a red car?", answer.Yes, red},
		{"Is there a blue car?", answer.No, red},
		{"Is there a dark red car?", answer.Yes, red},
		{"Is there a white car?", answer.Yes, shaded},
		{"Is there a gray car?", answer.No, still(6, car(map[string]float64{"gray": .24, "brown": .76}))},
		{"Is there a black car?", answer.No, shaded},
		{"Is there a black and white car?", answer.Yes, still(6, car(map[string]float64{"white": .5, "black": .5}))},
		{"Is there a black and white car?", answer.No, red},
		{"Is there a red car?", answer.Indeterminate, none},
		{"Is there no red car?", answer.No, red},
		{"Is there a red dog?", answer.No, red},
		{"Is there a red car on the left?", answer.No, red},
	})
	two := still(6, red[0][0], thing{term: "car", score: .6, box: at(.2, .5), colors: map[string]float64{"blue": .8}})
	require.Equal(t, 1, *scene("How many red cars are there?", two...).DetectedCount)
	require.Equal(t, 2, *scene("How many cars are there?", two...).DetectedCount)
	require.Equal(t, answer.Yes, scene("Is there a red car in the middle?", two...).Answer)
	require.Equal(t, answer.No, scene("Is there a red car on the left?", two...).Answer, "one object must satisfy all of it")
}

func TestConfidenceOfAnAttributeIsBoundByTheDetection(t *testing.T) {
	t.Parallel()
	frames := func(score float64) [][]thing {
		return still(6, thing{term: "car", score: score, box: at(.5, .5), colors: map[string]float64{"red": 1}})
	}
	clear, faint := scene("Is there a blue car?", frames(.8)...), scene("Is there a blue car?", frames(.32)...)
	require.Equal(t, answer.No, clear.Answer)
	require.Equal(t, answer.No, faint.Answer)
	require.LessOrEqual(t, faint.Confidence, clear.Confidence)
	require.Less(t, scene("Is there a red car?", frames(.32)...).Confidence, scene("Is there a red car?", frames(.8)...).Confidence)
}

func TestCompound(t *testing.T) {
	t.Parallel()
	dog, cat := thing{term: "dog", score: .8, box: at(.2, .5)}, thing{term: "cat", score: .7, box: at(.8, .5)}
	second := thing{term: "dog", score: .7, box: at(.5, .5)}
	both := still(6, dog, cat)
	apart := append(still(4, dog), still(4, cat)...)
	only := still(6, dog)
	check(t, []ask{
		{"Is there a dog and a cat?", answer.Yes, both},
		{"Is there a dog and a cat?", answer.No, apart},
		{"Is there a dog and a cat?", answer.No, only},
		{"Is there a dog or a cat?", answer.Yes, only},
		{"Is there a dog or a cat?", answer.Yes, apart},
		{"Is there a horse or a cat?", answer.No, only},
		{"Is there a dog but no cat?", answer.Yes, only},
		{"Is there a dog but no cat?", answer.No, both},
		{"Is there neither a horse nor a cat?", answer.Yes, only},
		{"Is there neither a dog nor a cat?", answer.No, only},
		{"Is there a dog and a unicorn?", answer.Indeterminate, only},
		{"Is there a horse and a unicorn?", answer.No, only},
		{"Is there a dog or a unicorn?", answer.Yes, only},
		{"Is there a horse or a unicorn?", answer.Indeterminate, only},
		{"Are there two dogs and a cat?", answer.No, both},
		{"Are there two dogs and a cat?", answer.Yes, still(6, dog, second, cat)},
		{"Are there two dogs and a cat?", answer.No, append(still(4, dog, second), still(4, dog, cat)...)},
		{"Is there a dog on the left and a cat on the right?", answer.Yes, both},
		{"Is there a dog on the right and a cat on the left?", answer.No, both},
	})
	r := scene("Is there a dog and a cat?", append(still(4, dog), still(4, dog, cat)...)...)
	require.Equal(t, [2]float64{1.75, 4}, [2]float64{r.Clips[0].StartS, r.Clips[0].EndS}, "a clip shows all of them")
	require.Equal(t, map[string]float64{"dog": r.TermConfidences["dog"], "cat": r.TermConfidences["cat"]}, r.Clips[0].Terms)
	require.LessOrEqual(t, r.Confidence, min(r.TermConfidences["dog"], r.TermConfidences["cat"]))
	r = scene("Is there a dog or a cat?", apart...)
	require.Len(t, r.Clips, 1)
	require.Equal(t, [2]float64{0, 4}, [2]float64{r.Clips[0].StartS, r.Clips[0].EndS}, "a clip shows any of them")
}

func TestCompoundWhereOneIsTheOther(t *testing.T) {
	t.Parallel()
	dog, cat := thing{term: "dog", score: .8, box: at(.2, .5)}, thing{term: "cat", score: .5, box: at(.2, .5)}
	require.Equal(t, answer.No, scene("Is there a dog and a cat?", still(6, dog, cat)...).Answer,
		"an object that is a little like a cat and much like a dog is not both")
}

func TestSegment(t *testing.T) {
	t.Parallel()
	dog := thing{term: "dog", score: .8, box: at(.2, .5)}
	late := append(still(10), still(10, dog)...) // from 5 s to the end at 10 s
	check(t, []ask{
		{"When does the dog appear?", answer.Yes, late},
		{"When does the cat appear?", answer.No, late},
		{"Is there a dog in the first 3 seconds?", answer.No, late},
		{"Is there a dog in the first 7 seconds?", answer.Yes, late},
		{"Is there a dog in the last 2 seconds?", answer.Yes, late},
		{"Is there a dog at the end?", answer.Yes, late},
		{"Is there a dog at the beginning?", answer.No, late},
		{"Is there a dog between 0:01 and 0:04?", answer.No, late},
		{"Is there a dog after 0:06?", answer.Yes, late},
		{"Is there a dog before 0:04?", answer.No, late},
		{"Is there no dog in the first 3 seconds?", answer.Yes, late},
		{"Is there a dog after 0:50?", answer.Indeterminate, late},
	})
	clip := func(prompt string) [2]float64 {
		clips := scene(prompt, late...).Clips
		require.Len(t, clips, 1, prompt)
		return [2]float64{clips[0].StartS, clips[0].EndS}
	}
	require.Equal(t, [2]float64{4.75, 10}, clip("When does the dog appear?"))
	require.Equal(t, [2]float64{4.75, 7}, clip("Is there a dog in the first 7 seconds?"))
	require.Equal(t, [2]float64{6, 10}, clip("Is there a dog after 0:06?"))
}

func TestClipsOfANumberShowThatMany(t *testing.T) {
	t.Parallel()
	one, two := thing{term: "dog", score: .8, box: at(.2, .5)}, thing{term: "dog", score: .8, box: at(.8, .5)}
	frames := append(still(4, one), still(4, one, two)...)
	r := scene("When are there two dogs?", frames...)
	require.Equal(t, answer.Yes, r.Answer)
	require.Len(t, r.Clips, 1)
	require.Equal(t, [2]float64{1.75, 4}, [2]float64{r.Clips[0].StartS, r.Clips[0].EndS})
	r = scene("Are there two dogs and a cat?", append(frames, still(4, one, two, thing{term: "cat", score: .8, box: at(.5, .5)})...)...)
	require.Equal(t, [2]float64{3.75, 6}, [2]float64{r.Clips[0].StartS, r.Clips[0].EndS})
}

// TestBetween: a number between two numbers is at least one and at most the other.
func TestBetween(t *testing.T) {
	t.Parallel()
	dog := func(x float64) thing { return thing{term: "dog", score: .8, box: at(x, .5)} }
	three := still(6, dog(.2), dog(.5), dog(.8))
	check(t, []ask{
		{"Are there between 2 and 4 dogs?", answer.Yes, three},
		{"Are there one or two dogs?", answer.No, three},
		{"Are there 4 to 6 dogs?", answer.No, three},
		{"Are there 1-3 dogs on the left?", answer.Yes, three},
		{"Are there 2-3 dogs on the left?", answer.No, three},
	})
}
