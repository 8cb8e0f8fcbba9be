package calibrate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/vocabulary"
	"vqa/domain/sampling"
)

func TestPairsReadWhatAQuestionSaysOfAClass(t *testing.T) {
	t.Parallel()
	shown := [][2]float64{{1, 2}}
	tests := map[string]struct {
		question evaluate.Case
		want     []Pair
	}{
		"presence":          {evaluate.Case{Question: "Is there a dog?", Answer: "yes", Clips: shown}, []Pair{{Class: "dog", Shown: shown}}},
		"absence":           {evaluate.Case{Question: "Is there a dog?", Answer: "no"}, []Pair{{Class: "dog", Absent: true}}},
		"negated":           {evaluate.Case{Question: "Is the dog absent from the video?", Answer: "no"}, []Pair{{Class: "dog"}}},
		"count":             {evaluate.Case{Question: "How many dogs are there?", Answer: "yes", Count: new(2)}, []Pair{{Class: "dog"}}},
		"count of none":     {evaluate.Case{Question: "How many dogs are there?", Answer: "no", Count: new(0)}, []Pair{{Class: "dog", Absent: true}}},
		"color, yes":        {evaluate.Case{Question: "Is there a red car?", Answer: "yes"}, []Pair{{Class: "car"}}},
		"color, no":         {evaluate.Case{Question: "Is there a red car?", Answer: "no"}, nil},
		"threshold, no":     {evaluate.Case{Question: "Are there at least 2 dogs?", Answer: "no"}, nil},
		"both":              {evaluate.Case{Question: "Is there a cat and a dog?", Answer: "yes", Clips: shown}, []Pair{{Class: "cat", Shown: shown}, {Class: "dog", Shown: shown}}},
		"not both":          {evaluate.Case{Question: "Is there a cat and a dog?", Answer: "no"}, nil},
		"narrower word, no": {evaluate.Case{Question: "Is there a woman?", Answer: "no"}, nil},
		"unknown word":      {evaluate.Case{Question: "Is there a lighthouse?", Answer: "no"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, Pairs([]evaluate.Case{tt.question}, vocabulary.COCO()), cmpopts.EquateEmpty()))
		})
	}
}

func TestLabelsAddWhatNoQuestionSays(t *testing.T) {
	t.Parallel()
	asked := []Pair{{Clip: "a.mp4", Class: "dog", Absent: true}}
	labels := map[string]Labels{"a.mp4": {Present: []string{"dog", "cat"}, Unclear: []string{"cup"}}}
	require.Equal(t, append(asked,
		Pair{Clip: "a.mp4", Class: "cat", Unasked: true}, Pair{Clip: "a.mp4", Class: "bus", Absent: true, Unasked: true},
	), with(asked, labels, []string{"a.mp4", "b.mp4"}, []string{"dog", "cat", "cup", "bus"}))
}

// drawn makes examples of one object in one frame, by parameters that the fit must find.
func drawn(n int, p answer.Parameters) []example {
	random := rand.New(rand.NewPCG(1, 2))
	var all []example
	for range n {
		for _, class := range []string{"dog", "car", "chair", "cup", "person"} {
			o := object{logScore: math.Log(.08 + .6*random.Float64()), rivals: 1.5 * random.Float64(), share: 1}
			e := example{class: class, kind: answer.KindOf(class), seconds: [][][]object{{{o}}}, weight: 1}
			e.present = random.Float64() < e.probability(p)
			all = append(all, e)
		}
	}
	return all
}

func TestFitFindsTheParameters(t *testing.T) {
	t.Parallel()
	prior, err := Prior("test")
	require.NoError(t, err)
	truth := prior
	truth.Objects = answer.Logistic{Constant: 4, Score: 2.5, Rivals: -1}
	truth.Persons = answer.Logistic{Constant: 5, Score: 4, Rivals: -.8}
	truth.Kinds = answer.Kinds{Animal: .5, Vehicle: 0, Big: -.2, Small: -.3}
	all := drawn(4000, truth)
	fitted, err := fit(all, prior, ridges[0])
	require.NoError(t, err)
	want, got := even(truth), even(fitted)
	for kind := range want {
		require.InDelta(t, want[kind], got[kind], .02, kind)
	}
	require.InDelta(t, 2.5, fitted.Objects.Score, .3)
	require.InDelta(t, -.8, fitted.Persons.Rivals, .3)

	// A few examples do not move a strong prior.
	held, err := fit(all[:20], prior, ridges[len(ridges)-1])
	require.NoError(t, err)
	require.InDelta(t, prior.Objects.Score, held.Objects.Score, .1)
}

// TestHalfOfWhatPeopleAskForIsAbsent balances nine present classes against one absent one.
func TestHalfOfWhatPeopleAskForIsAbsent(t *testing.T) {
	t.Parallel()
	var all []example
	for i := range 10 {
		e := example{clip: string(rune('a' + i)), class: "dog", present: i > 0, seconds: [][][]object{{{{logScore: math.Log(.2)}}}}}
		all = append(all, e, e) // at two phases of the grid
	}
	present, absent := 0.0, 0.0
	for _, e := range balanced(all, "b") {
		require.NotEqual(t, "b", e.clip)
		if e.present {
			present += e.weight
		} else {
			absent += e.weight
		}
	}
	require.InDelta(t, 8, present, 1e-9, "a pair counts once")
	require.InDelta(t, present, absent, 1e-9)
}

func TestAUC(t *testing.T) {
	t.Parallel()
	of := func(present bool, p float64) example {
		return example{present: present, weight: 1, seconds: [][][]object{{{{share: p}}}}}
	}
	all := []example{of(true, .9), of(true, .4), of(false, .4), of(false, .1)}
	require.InDelta(t, 3.5/4, auc(all, func(e example) float64 { return e.seconds[0][0][0].share }), 1e-9)
}

// dogs are clips in which dogs score .5 and false dogs .3.
func dogs() Clips {
	clips := Clips{Vocabulary: vocabulary.COCO(), Seen: map[string]evaluate.Seen{}}
	for i := range 8 {
		name, score, truth := string(rune('a'+i))+".mp4", .5, "yes"
		if i%2 == 1 {
			score, truth = .3, "no"
		}
		var s evaluate.Seen
		s.DecodedS, s.Evidence.Terms, s.Evidence.Known = 3, []string{"dog", "cat"}, []bool{true, true}
		for k := range 24 {
			s.Evidence.Frames = append(s.Evidence.Frames, evidence.Frame{At: float64(k) * sampling.FineStepS, Detections: []evidence.Detection{
				{Term: 0, Score: score, Box: evidence.Box{X1: .1, Y1: .1, X2: .5, Y2: .5}},
			}})
		}
		clips.Seen[name] = s
		clips.Questions = append(clips.Questions, evaluate.Case{File: name, Question: "Is there a dog?", Answer: truth})
	}
	return clips
}

// TestFitOfClips leaves each clip out.
func TestFitOfClips(t *testing.T) {
	t.Parallel()
	clips := dogs()
	prior, err := Prior("test")
	require.NoError(t, err)
	fitted, err := Fit(clips, prior)
	require.NoError(t, err)
	require.Equal(t, "test", fitted.Weights)
	require.Len(t, fitted.LeftOut, 8)
	require.Greater(t, fitted.Figures.Even["animal"], .3, "false dogs score .3")
	require.Less(t, fitted.Figures.Even["animal"], .5)
	require.Less(t, fitted.Figures.LogLoss, fitted.Figures.PriorLogLoss)
	require.Equal(t, [2]int{4, 4}, [2]int{fitted.Figures.Present, fitted.Figures.Absent})
	require.InDelta(t, 1, fitted.Figures.AUC, 1e-9)
	require.Equal(t, fitted.Figures.Quality, *fitted.Quality, "the document records it")
}

// TestChooseByTheQuestions answers the questions of clips with fits to the other clips.
func TestChooseByTheQuestions(t *testing.T) {
	t.Parallel()
	clips := dogs()
	prior, err := Prior("test")
	require.NoError(t, err)
	fitted, err := Fit(clips, prior)
	require.NoError(t, err)
	require.NoError(t, Choose(clips, &fitted))
	require.Equal(t, 8, fitted.Report.Total.Right, "%+v", fitted.Report.Outcomes)
	require.Equal(t, 8, fitted.Quality.Right)
	require.Equal(t, prior.Lift, fitted.Lift, "no question has clips, so nothing speaks against the prior")
	require.LessOrEqual(t, fitted.CapPrior, priorCap)
	raw, err := json.Marshal(fitted.Parameters)
	require.NoError(t, err)
	_, err = answer.ParseParameters(raw)
	require.NoError(t, err, "the program accepts what was fitted")
}

func TestDecisionsFollowTheOutcomes(t *testing.T) {
	t.Parallel()
	p, err := Prior("test")
	require.NoError(t, err)
	var outcomes []evaluate.Outcome
	var clips []string
	add := func(n int, got string, confidence float64, right bool) {
		for range n {
			name := fmt.Sprint(len(clips))
			clips = append(clips, name)
			outcomes = append(outcomes, evaluate.Outcome{Case: evaluate.Case{File: name}, Got: got, Confidence: confidence, Right: right})
		}
	}
	add(8, "yes", .95, true)
	add(6, "no", .97, true)
	add(9, "no", .75, true)
	add(1, "no", .75, false)
	add(20, "no", .6, false) // probability .4: the answer is mostly yes
	got := decisions(p, clips, outcomes)
	require.Equal(t, [2]float64{.35, .5}, got.Doubt, "the narrowest band around .4")
	require.InDelta(t, .9, got.CapYes, 1e-9, "9 of 10")
	require.InDelta(t, .88, got.CapNo, 1e-9, "7 of 8")
	require.InDelta(t, .83, got.CapPrior, 1e-9, "10 of 12")
	require.Equal(t, [2]float64{.48, .5}, decisions(p, clips[:24], outcomes).Doubt, "without the wrong answers of .6")
}

func TestReadLabels(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "labels.json")
	_, err := ReadLabels(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("["), 0o600))
	_, err = ReadLabels(path)
	require.ErrorContains(t, err, path)
	labels, err := ReadLabels("../../../../docs/calibration-labels.json")
	require.NoError(t, err)
	known := vocabulary.COCO().Names()
	for clip, l := range labels {
		require.Subset(t, known, append(l.Present, l.Unclear...), clip)
	}
}
