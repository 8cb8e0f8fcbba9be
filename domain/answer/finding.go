package answer

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// finding is what the evidence shows of one subject and its conditions.
type finding struct {
	subject query.Subject
	// known is false when the model can assess none of the subject's classes, or when there
	// is no frame.
	known bool
	// covers is true when no detection means that there is no such object.
	covers bool
	// seen is the probability that the term is visible at all, without its conditions.
	seen float64
	// sure bounds the confidence of a no. When the object was hardly detected, its
	// conditions were hardly checked.
	sure    float64
	samples []sample
	// fine are the samples of the fine frames, which refine the edges of clips.
	fine []sample
	// runs are all runs, trusted those that count.
	runs, trusted []run
	// visible is the probability that the subject is visible and satisfies its conditions.
	visible float64
	// occurrences are the times of its occurrences, when the question asks for them.
	occurrences []interval
	// doubtful is true when it is undecided whether the subject is there at all, without
	// its conditions.
	doubtful bool
	// undetermined is true when the subject may satisfy its conditions, but the frames do
	// not show them.
	undetermined bool
}

func find(q query.Query, subject query.Subject, ev evidence.Evidence, cal Calibration) finding {
	f := finding{subject: subject, sure: 1}
	classes := classesOf(subject.Term, ev, cal)
	if f.known = len(classes.mine) > 0 && len(ev.Ordered()) > 0; !f.known {
		return f
	}
	f.covers = classes.covers
	f.settle(samplesOf(observations(classes, ev, cal, false), unconditioned, cal), ev, cal)
	f.seen = f.visible
	conditions := conditionsOf(q, subject, ev, cal)
	if len(conditions) == 0 {
		f.fine = fineOf(q, subject, classes, ev, cal, false, unconditioned)
		return f
	}
	f.sure = max(f.seen, 1-f.seen)
	f.doubtful = !cal.Vocabulary.Narrower(subject.Term) && f.doubt(cal) == query.LowConfidence
	all := follow(observations(classes, ev, cal, true), ev, cal)
	if asked := askedOccurrences(q, subject); len(asked) > 0 {
		done := findOccurrences(asked, classes, ev, cal)
		all = attachOccurrences(all, done)
		f.occurrences = occurrenceTimes(attachOccurrences(observations(classes, ev, cal, false), done))
	}
	strict, lenient := scoreBy(conditions, cal, false), scoreBy(conditions, cal, true)
	var certain, possible []sample
	for s := range all {
		certain, possible = append(certain, s.scored(strict, cal)), append(possible, s.scored(lenient, cal))
	}
	open := finding{}
	open.settle(possible, ev, cal)
	f.settle(certain, ev, cal)
	f.fine = fineOf(q, subject, classes, ev, cal, true, strict)
	f.undetermined = len(open.trusted) > 0 && len(f.trusted) == 0 && mostlyOpen(open.samples, f.samples, cal)
	if cal.Vocabulary.Narrower(subject.Term) {
		f.seen = f.visible
	}
	if f.undetermined && subject.Quantity != nil && f.agrees(open, cal) {
		f.samples, f.runs, f.trusted, f.visible, f.undetermined = open.samples, open.runs, open.trusted, open.visible, false
	}
	return f
}

// agrees reports whether the answer about the quantity is the same with and without the
// unknown conditions. Where one person is visible there are no two women, whether that
// person is one or not.
func (f finding) agrees(open finding, cal Calibration) bool {
	of := func(f finding) bool {
		t := f.tally(cal)
		yes, _ := holds(*f.subject.Quantity, t.count(cal.Probability(cal.Faint)), t)
		return yes
	}
	open.subject = f.subject
	return of(f) == of(open)
}

// mostlyOpen reports whether samples with unknown conditions are a significant share of the
// samples that show the subject. A person who is cut off for a moment while entering is
// not.
func mostlyOpen(open, certain []sample, cal Calibration) bool {
	const matters = .2
	unknown, seen := 0., 0.
	for i, s := range open {
		if s.raw >= cal.Threshold {
			seen++
		}
		if s.best() >= cal.Faint && certain[i].best() < cal.Faint {
			unknown++
		}
	}
	return unknown >= matters*seen
}

// settle sets samples and everything that follows from them.
func (f *finding) settle(samples []sample, ev evidence.Evidence, cal Calibration) {
	f.samples = samples
	f.runs = findRuns(samples, ev.IntervalS, cal)
	f.visible = visibility(samples, f.runs, cal)
	f.trusted = trustedOf(f.runs)
}

// verdict is the answer to a question before a negation is applied.
type verdict struct {
	answer Answer
	// reason is set with Indeterminate.
	reason query.Reason
	// confidence in the answer, 0..1.
	confidence float64
}

func undecided(reason query.Reason) verdict { return verdict{answer: Indeterminate, reason: reason} }

// nearlyEven is the part of even odds from which a no becomes undecided. A no that is about
// as likely wrong as right is of no use.
const nearlyEven = .95

// doubt is the reason why there is no answer although no run of the subject is trusted; ""
// when the subject is absent.
func (f finding) doubt(cal Calibration) query.Reason {
	switch {
	case !f.known:
		return query.NothingDetected
	case f.doubtful:
		return query.LowConfidence
	case len(f.trusted) > 0:
		return ""
	case f.undetermined || f.visible >= nearlyEven*cal.Probability(cal.Faint):
		return query.LowConfidence
	case !f.covers:
		return query.NothingDetected
	}
	return ""
}

// verdict decides whether the subject is there with its conditions and, if it has one, its
// quantity.
func (f finding) verdict(cal Calibration) verdict {
	if reason := f.doubt(cal); reason != "" {
		return undecided(reason)
	}
	if f.subject.Quantity == nil {
		if len(f.trusted) > 0 {
			return verdict{answer: Yes, confidence: f.visible}
		}
		return verdict{answer: No, confidence: min(1-f.visible, f.sure)}
	}
	t := f.tally(cal)
	yes, p := holds(*f.subject.Quantity, t.count(cal.Probability(cal.Faint)), t)
	if yes {
		return verdict{answer: Yes, confidence: p}
	}
	return verdict{answer: No, confidence: p}
}

func (f finding) tally(cal Calibration) tally { return tallyOf(f.samples, f.trusted, f.visible, cal) }

// least is the number of instances that must be visible together for the quantity of the
// subject. It is 0 when its absence is asked for or allowed.
func (f finding) least() int {
	q := f.subject.Quantity
	switch {
	case q == nil:
		return 1
	case q.Op == query.MoreThan:
		return q.Value + 1
	case q.Op == query.AtMost || q.Op == query.FewerThan:
		return 0
	}
	return q.Value
}

// believed is the score in sample i of the last instance that must be visible; 0 where a
// rival class holds the place.
func (f finding) believed(i int, cal Calibration) float64 {
	for _, r := range f.runs {
		if r.outvoted && i >= r.first && i <= r.last {
			return 0
		}
	}
	return f.worth(f.samples[i], cal)
}

// worth is the score in a sample of the last instance that must be visible.
func (f finding) worth(s sample, cal Calibration) float64 {
	k := f.least()
	score := s.nth(k)
	if k > 1 {
		score = max(0, score-cal.Further)
	}
	return score
}
