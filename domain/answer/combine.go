package answer

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// combined is the verdict over all subjects, and the parts of the video that show it.
type combined struct {
	verdict
	// samples and shown are the parts of the video in which a yes is visible. shown is
	// empty when only an absence is asked for.
	samples []sample
	// fine are the samples of the fine frames; nil when they cannot refine the edges.
	fine  []sample
	shown []run
	// occurrences are the times of the occurrences, when the question asks for nothing
	// else.
	occurrences []interval
}

// combine answers a question about all or any of its subjects. For all, the subjects must
// be visible in the same frame (domain/query, "Normal forms"). A subject that must be
// absent, or present in at most a number, must be so in the whole video.
func combine(findings []finding, operator query.Operator, cal Calibration, intervalS float64) combined {
	if len(findings) == 1 {
		c := combined{verdict: findings[0].verdict(cal)}
		c.show(findings, math.Min, cal, intervalS)
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
	c := combined{verdict: verdict{answer: Yes, confidence: yes}}
	together := c.show(findings, math.Min, cal, intervalS)
	switch {
	case together.samples == nil: // all must be absent
	case len(together.trusted) > 0:
		c.confidence = min(yes, together.visible)
	case together.visible >= cal.Probability(cal.Faint):
		return combined{verdict: undecided(query.LowConfidence)}
	default:
		return combined{verdict: verdict{answer: No, confidence: 1 - together.visible}}
	}
	return c
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
		c.show(met, math.Max, cal, intervalS)
		return c
	case open != "":
		return combined{verdict: undecided(open)}
	}
	return combined{verdict: verdict{answer: No, confidence: no}}
}

// show finds the parts of the video in which the subjects are visible. join says whether
// all are needed or any of them. It returns the finding over all of them together.
func (c *combined) show(findings []finding, join func(a, b float64) float64, cal Calibration, intervalS float64) finding {
	var visible []finding
	for _, f := range findings {
		if f.least() > 0 && f.known {
			visible = append(visible, f)
		}
	}
	if len(visible) == 0 {
		return finding{}
	}
	together := visible[0]
	c.fine, c.occurrences = together.fine, together.occurrences
	if len(visible) > 1 || together.least() > 1 {
		together = finding{}
		c.fine, c.occurrences = overlayFine(visible, join, cal), nil
		together.settle(overlay(visible, join, cal), evidence.Evidence{IntervalS: intervalS}, cal)
	}
	c.samples, c.shown = together.samples, together.trusted
	return together
}

// overlay combines the scores of findings, sample by sample.
func overlay(findings []finding, join func(a, b float64) float64, cal Calibration) []sample {
	samples := make([]sample, len(findings[0].samples))
	for i := range samples {
		score := findings[0].believed(i, cal)
		for _, f := range findings[1:] {
			score = join(score, f.believed(i, cal))
		}
		samples[i] = sample{at: findings[0].samples[i].at, scores: []float64{score}, raw: score}
	}
	return samples
}
