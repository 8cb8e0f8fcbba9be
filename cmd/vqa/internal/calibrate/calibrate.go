package calibrate

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/domain/query/vocabulary"
)

// prior holds the parameters where every fit begins. They are from a study that labeled each frame of
// 23 clips. A fit that began at its own last result would drift.
//
//go:embed prior.json
var prior []byte

// Prior returns the parameters where a fit begins, for an engine with some weights.
func Prior(weights string) (answer.Parameters, error) {
	p, err := answer.ParseParameters(prior)
	p.Weights = weights
	return p, err
}

// Clips are labeled clips as an engine sees them.
type Clips struct {
	Questions []evaluate.Case
	// Labels list the classes of some clips in full.
	Labels map[string]Labels
	// Seen is what the engine reports, by clip.
	Seen map[string]evaluate.Seen
	// Vocabulary maps the words of the questions to the engine's classes.
	Vocabulary vocabulary.Vocabulary
}

// Fitted are parameters with the figures of left-out clips.
type Fitted struct {
	answer.Parameters
	// LeftOut are the parameters that were fitted without a clip, by its name.
	LeftOut map[string]answer.Parameters
	Ridge   Ridge
	Figures Figures
	// Report is about the questions, after [Choose].
	Report evaluate.Report
}

// Figures compare a fit with its prior on the classes in the clips.
type Figures struct {
	answer.Quality
	PriorLogLoss float64 `json:"prior_log_loss"`
	PriorAUC     float64 `json:"prior_auc"`
	// Even are the raw scores with even odds, by the kind of a class.
	Even map[string]float64 `json:"even"`
}

// Print writes the figures as tables.
func (f Figures) Print(out terminal.Screen) {
	number := func(x float64) string { return fmt.Sprintf("%.3f", x) }
	fmt.Fprintf(out, "\n  %d present and %d absent classes, each judged without its clip\n", f.Present, f.Absent)
	terminal.Table{{"", "LOG LOSS", "AUC"}, {"prior", number(f.PriorLogLoss), number(f.PriorAUC)}, {"fitted", number(f.LogLoss), number(f.AUC)}}.Print(out)
	even := terminal.Table{{"KIND", "EVEN ODDS AT"}}
	for _, kind := range slices.Sorted(maps.Keys(f.Even)) {
		even = append(even, []string{kind, number(f.Even[kind])})
	}
	fmt.Fprintln(out)
	even.Print(out)
}

// even are the raw scores with even odds.
func even(p answer.Parameters) map[string]float64 {
	at := func(l answer.Logistic, kind float64) float64 { return math.Exp(-(l.Constant + kind) / l.Score) }
	return map[string]float64{
		"person": at(p.Persons, 0), "animal": at(p.Objects, p.Kinds.Animal), "vehicle": at(p.Objects, p.Kinds.Vehicle),
		"big": at(p.Objects, p.Kinds.Big), "small": at(p.Objects, p.Kinds.Small),
	}
}

// Fit fits the probability of objects. Of several ridges it takes the strongest whose loss on left-out
// clips is within one standard error of the least: clear clips must not move what they do not decide.
func Fit(c Clips, from answer.Parameters) (Fitted, error) {
	clips := evaluate.Clips(c.Questions)
	pairs := with(Pairs(c.Questions, c.Vocabulary), c.Labels, clips, c.Vocabulary.Names())
	all := examples(pairs, c.Seen, from)
	tries := make([]Fitted, len(ridges))
	losses := make([][]float64, len(ridges))
	for i, r := range ridges {
		tries[i] = Fitted{Ridge: r, LeftOut: map[string]answer.Parameters{}}
		var err error
		if tries[i].Parameters, err = fit(balanced(all, ""), from, r); err != nil {
			return Fitted{}, err
		}
		for _, clip := range clips {
			if tries[i].LeftOut[clip], err = fit(balanced(all, clip), from, r); err != nil {
				return Fitted{}, fmt.Errorf("without %s: %w", clip, err)
			}
		}
		losses[i] = lossByClip(balanced(all, ""), clips, func(clip string) answer.Parameters { return tries[i].LeftOut[clip] })
	}
	out := tries[lastWithinOneError(losses)]
	out.Figures = figures(balanced(all, ""), clips, from, out.LeftOut)
	out.Figures.Even = even(out.Parameters)
	out.Quality = &out.Figures.Quality
	return out, nil
}

// lastWithinOneError is the last try whose loss, summed over the clips, is within one standard error of
// the least.
func lastWithinOneError(losses [][]float64) int {
	least := 0
	for i := range losses {
		if floats.Sum(losses[i]) < floats.Sum(losses[least]) {
			least = i
		}
	}
	last := least
	for i := range losses {
		worse := floats.SubTo(make([]float64, len(losses[i])), losses[i], losses[least])
		if floats.Sum(worse) <= stat.StdDev(worse, nil)*math.Sqrt(float64(len(worse))) {
			last = max(last, i)
		}
	}
	return last
}

// lossByClip sums each clip's weighted log loss.
func lossByClip(all []example, clips []string, by func(clip string) answer.Parameters) []float64 {
	losses := make([]float64, len(clips))
	for _, e := range all {
		losses[slices.Index(clips, e.clip)] += logLoss([]example{e}, by(e.clip))
	}
	return losses
}

func figures(all []example, clips []string, from answer.Parameters, leftOut map[string]answer.Parameters) Figures {
	var f Figures
	weights := 0.0
	counted := map[[2]string]bool{}
	for _, e := range all {
		weights += e.weight
		if key := [2]string{e.clip, e.class}; !counted[key] {
			counted[key] = true
			if e.present {
				f.Present++
			} else {
				f.Absent++
			}
		}
	}
	loss := func(by func(string) answer.Parameters) float64 {
		return floats.Sum(lossByClip(all, clips, by)) / weights
	}
	thousandths := func(x float64) float64 { return math.Round(1000*x) / 1000 }
	f.LogLoss = thousandths(loss(func(clip string) answer.Parameters { return leftOut[clip] }))
	f.PriorLogLoss = loss(func(string) answer.Parameters { return from })
	f.AUC = thousandths(auc(all, func(e example) float64 { return e.probability(leftOut[e.clip]) }))
	f.PriorAUC = auc(all, func(e example) float64 { return e.probability(from) })
	return f
}
