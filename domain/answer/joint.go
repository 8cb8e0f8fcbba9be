package answer

import "vqa/domain/query"

// combined is the verdict over all subjects, and where it shows.
type combined struct {
	verdict
	// samples and shown are the parts of the video in which a yes can be seen; shown is
	// empty for what can only be seen to be absent.
	samples []sample
	shown   []run
}

// combine answers all or any of the findings. For all, what must be seen must be seen
// in the same frame (domain/query, "Normal forms"); what must be absent, or at most a
// number, must be so throughout.
func combine(findings []finding, operator query.Operator, cal Calibration, intervalS float64) combined {
	if len(findings) == 1 {
		f := findings[0]
		c := combined{verdict: f.verdict(cal), samples: f.samples}
		if f.least() > 0 {
			c.shown = f.trusted
		}
		return c
	}
	verdicts := make([]verdict, len(findings))
	for i, f := range findings {
		verdicts[i] = f.verdict(cal)
	}
	if operator == query.Any {
		return combineAny(findings, verdicts, cal, intervalS)
	}
	return combineAll(findings, verdicts, cal, intervalS)
}

func combineAll(findings []finding, verdicts []verdict, cal Calibration, intervalS float64) combined {
	yes, no := 1.0, 0.0
	var open query.Reason
	for _, v := range verdicts {
		switch v.answer {
		case Yes:
			yes *= v.confidence
		case No:
			no = max(no, v.confidence)
		default:
			open = v.reason
		}
	}
	if no > 0 {
		return combined{verdict: verdict{answer: No, confidence: no}}
	}
	if open != "" {
		return combined{verdict: undecided(open)}
	}
	var together finding
	samples, apart := overlay(findings, cal, func(a, b float64) float64 { return min(a, b) })
	if samples == nil || apart < 2 {
		// At most one of them is to be seen; the rest is to be absent.
		c := combined{verdict: verdict{answer: Yes, confidence: yes}}
		for _, f := range findings {
			if f.least() > 0 {
				c.samples, c.shown = f.samples, f.trusted
			}
		}
		return c
	}
	together.settle(samples, Evidence{IntervalS: intervalS}, cal)
	switch {
	case len(together.trusted) > 0:
		c := combined{verdict: verdict{answer: Yes, confidence: min(yes, together.visible)}, samples: samples, shown: together.trusted}
		return c
	case together.visible >= cal.Probability(cal.Threshold):
		return combined{verdict: undecided(query.LowConfidence)}
	}
	return combined{verdict: verdict{answer: No, confidence: 1 - together.visible}}
}

func combineAny(findings []finding, verdicts []verdict, cal Calibration, intervalS float64) combined {
	yes, no := 0.0, 1.0
	var open query.Reason
	var met []finding
	for i, v := range verdicts {
		switch v.answer {
		case Yes:
			yes = max(yes, v.confidence)
			met = append(met, findings[i])
		case No:
			no *= v.confidence
		default:
			open = v.reason
		}
	}
	switch {
	case yes > 0:
		c := combined{verdict: verdict{answer: Yes, confidence: yes}}
		var shown finding
		c.samples, _ = overlay(met, cal, func(a, b float64) float64 { return max(a, b) })
		if c.samples != nil {
			shown.settle(c.samples, Evidence{IntervalS: intervalS}, cal)
			c.shown = shown.trusted
		}
		return c
	case open != "":
		return combined{verdict: undecided(open)}
	}
	return combined{verdict: verdict{answer: No, confidence: no}}
}

// overlay lays the findings that are to be seen over each other, sample by sample, and
// counts them; nil when there is none.
func overlay(findings []finding, cal Calibration, join func(a, b float64) float64) (samples []sample, n int) {
	for _, f := range findings {
		k := f.least()
		if k == 0 {
			continue
		}
		n++
		if samples == nil {
			samples = make([]sample, len(f.samples))
			for i, s := range f.samples {
				score := f.believed(i, k, cal)
				samples[i] = sample{at: s.at, scores: []float64{score}, raw: score}
			}
			continue
		}
		for i := range f.samples {
			score := join(samples[i].scores[0], f.believed(i, k, cal))
			samples[i].scores[0], samples[i].raw = score, score
		}
	}
	return samples, n
}
