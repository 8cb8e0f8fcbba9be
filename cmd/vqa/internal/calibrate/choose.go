package calibrate

import (
	"math"
	"slices"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/domain/answer"
)

// What [Choose] tries. The values of the prior are tried last.
var (
	lifts  = []float64{1, 1.5, 2, 2.5, 3}
	stays  = []float64{.5, 1, 1.5, 2, 3}
	doubts = []float64{.25, .3, .35, .4, .45, .48} // at even odds there is no answer
)

const (
	// priorCap bounds the confidence of a no that only the prior gives: it must not be called sure.
	priorCap = .85
	// sure is the confidence from which an answer counts for the cap of its kind, and mostSure the largest cap.
	sure, mostSure = .9, .98
	// open is a cap that bounds nothing.
	open = .998
)

// Choose sets what decides between answers, by the questions: the lift and the cost of a change by the
// overlap of clips, the band of indeterminate, and the caps. For each clip the other clips choose.
func Choose(c Clips, f *Fitted) error {
	var shown []evaluate.Case
	for _, q := range c.Questions {
		if len(q.Clips) > 0 {
			shown = append(shown, q)
		}
	}
	var tries []answer.Parameters // only their lift and stay count
	for _, lift := range lifts {
		for _, stay := range stays {
			tries = append(tries, answer.Parameters{Lift: lift, Stay: stay})
		}
	}
	tries = append(tries, f.Parameters)
	overlaps := make([][]evaluate.Outcome, len(tries))
	for i, t := range tries {
		var err error
		overlaps[i], err = f.ask(c, shown, func(p answer.Parameters) answer.Parameters { p.Lift, p.Stay = t.Lift, t.Stay; return p })
		if err != nil {
			return err
		}
	}
	uncapped, err := f.ask(c, c.Questions, func(p answer.Parameters) answer.Parameters {
		p.Doubt, p.CapYes, p.CapNo, p.CapPrior = [2]float64{p.Yes, p.Yes}, open, open, open
		return p
	})
	if err != nil {
		return err
	}
	set := func(p answer.Parameters, without string) answer.Parameters {
		clips := slices.DeleteFunc(evaluate.Clips(c.Questions), func(clip string) bool { return clip == without })
		best := tries[lastGood(len(tries), clips, func(i int) []evaluate.Outcome { return overlaps[i] }, missing)]
		p.Lift, p.Stay = best.Lift, best.Stay
		return decisions(p, clips, uncapped)
	}
	for clip, p := range f.LeftOut {
		f.LeftOut[clip] = set(p, clip)
	}
	f.Parameters = set(f.Parameters, "")
	outcomes, err := f.ask(c, c.Questions, func(p answer.Parameters) answer.Parameters { return p })
	if err != nil {
		return err
	}
	f.Report = evaluate.NewReport(outcomes)
	f.Quality.Questions, f.Quality.Right = f.Report.Total.Asked, f.Report.Total.Right
	if ece := f.Report.Calibration.ECE; ece != nil {
		f.Quality.CalibrationError = math.Round(1000**ece) / 1000
	}
	return nil
}

// ask answers questions, each with the parameters that were fitted without its clip.
func (f *Fitted) ask(c Clips, questions []evaluate.Case, with func(answer.Parameters) answer.Parameters) ([]evaluate.Outcome, error) {
	return evaluate.Ask(c.Seen, questions, func(clip string) answer.Calibration {
		return answer.Calibration{Vocabulary: c.Vocabulary, Parameters: with(f.LeftOut[clip])}
	})
}

// missing is the part of the clips that an answer does not overlap.
func missing(o evaluate.Outcome) float64 {
	if o.Overlap == nil {
		return 1
	}
	return 1 - *o.Overlap
}

// lastGood returns the last of n tries that is within one standard error of the best. A smaller
// difference is noise, so callers put the try that they prefer last.
func lastGood(n int, clips []string, try func(i int) []evaluate.Outcome, loss func(evaluate.Outcome) float64) int {
	losses := make([][]float64, n)
	for i := range n {
		losses[i] = make([]float64, len(clips))
		for _, o := range try(i) {
			if at := slices.Index(clips, o.File); at >= 0 {
				losses[i][at] += loss(o)
			}
		}
	}
	return lastWithinOneError(losses)
}

// decisions sets the band of indeterminate and the caps by outcomes without a band and caps. A wrong
// answer costs 1, and none costs one half. A cap is the share of right answers among those that it bounds.
func decisions(p answer.Parameters, clips []string, uncapped []evaluate.Outcome) answer.Parameters {
	doubted := func(o evaluate.Outcome, from float64) bool { return o.Got == "no" && 1-o.Confidence > from }
	from := 0.0
	band := lastGood(len(doubts), clips, func(i int) []evaluate.Outcome { from = doubts[i]; return uncapped }, func(o evaluate.Outcome) float64 {
		switch {
		case doubted(o, from):
			return .5
		case !o.Right:
			return 1
		}
		return 0
	})
	from = doubts[band]
	p.Doubt = [2]float64{from, p.Yes}
	share := func(counts func(evaluate.Outcome) bool) float64 {
		right, n := 1.0, 2.0 // one right and one wrong answer are added
		for _, o := range uncapped {
			if slices.Contains(clips, o.File) && counts(o) {
				n++
				if o.Right {
					right++
				}
			}
		}
		return max(.5, math.Round(100*right/n)/100)
	}
	clear := 1 - answer.PriorAlone
	p.CapYes = min(mostSure, share(func(o evaluate.Outcome) bool { return o.Got == "yes" && o.Confidence >= sure }))
	p.CapNo = min(mostSure, share(func(o evaluate.Outcome) bool { return o.Got == "no" && o.Confidence >= clear }))
	p.CapPrior = min(p.CapNo, priorCap, share(func(o evaluate.Outcome) bool {
		return o.Got == "no" && o.Confidence < clear && !doubted(o, from)
	}))
	return p
}
