package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// fallbackIntervalS replaces an unknown sampling interval, in seconds.
const fallbackIntervalS = 0.5

// Decide answers q from the evidence about one video. A query that is not [Assessable] is [Refused].
// Any evidence is accepted: unknown indices, and scores or times that are not numbers, are ignored.
func Decide(q query.Query, ev evidence.Evidence, cal Calibration) Result {
	return decide(q, ev, cal, false).Result
}

// decision is a result with what it rests on.
type decision struct {
	Result
	trial
	question query.Question
	body     *node
	// things are those of the statements, related those that their conditions name.
	things, related []*thing
	ruling          verdict
}

// decide is Decide. With follow, the objects of all things are linked to tracks.
func decide(q query.Query, ev evidence.Evidence, cal Calibration, follow bool) (d decision) {
	typed, ok := q.Question()
	if !ok || !Assessable(q) {
		d.Result = Refused(q)
		return d
	}
	ev = withDefaults(ev)
	within := windowOf(q, ev.DurationS)
	ev.Frames, ev.Fine = within.framesIn(ev.Frames), within.framesIn(ev.Fine)
	d.question, d.Result = typed, newResult(q, ev.DurationS)
	d.body = build(typed.Body, ev, cal, &d.things)
	if follow {
		d.related = relatedTo(d.things, ev, cal)
	}
	all := slices.Concat(d.things, d.related)
	for _, t := range all {
		t.follow = follow
	}
	d.trial = trial{axis: newAxis(watch(ev, cal, all), ev.DurationS), cal: cal, undecided: newUndecided()}
	for _, t := range d.things {
		d.TermConfidences[t.Term] = max(d.TermConfidences[t.Term], round4(min(d.best(d.bare(t), cal.SecondS), cal.CapYes)))
	}
	if len(d.Times) == 0 {
		d.Result = d.indeterminate(q, query.NothingDetected)
		return d
	}
	v := d.verdict(typed.Ask, typed.Always, d.body)
	d.ruling = v
	if d.undecided.some() {
		d.assume = true
		if other := d.verdict(typed.Ask, typed.Always, d.body); !other.same(v) {
			reason, detail := d.undecided.reason()
			d.Undecided = detail
			d.Result = d.indeterminate(q, reason)
			return d
		}
	}
	if v.answer == Indeterminate {
		d.Undecided = fmt.Sprintf("Whether the video shows %s cannot be told: the detections are too weak.", strings.Join(termsOf(d.things), " and "))
		d.Result = d.indeterminate(q, query.LowConfidence)
		return d
	}
	if slices.ContainsFunc(d.things, (*thing).vague) {
		v.limit("narrower word", marginal)
	}
	d.ruling = v
	d.Answer, d.Confidence = v.answer, max(round4(v.confidence), 1e-4)
	clips := within.trim(d.clips(v, d.things))
	switch {
	case counts(q):
		d.DetectedCount = v.count
		if v.answer == Yes && len(clips) > 0 {
			d.CountEvidence = clips
		}
	case v.answer == Yes && showsClips(q):
		d.Clips = clips
	}
	return d
}

// verdict is an answer with what it rests on.
type verdict struct {
	answer     Answer
	confidence float64
	count      *int
	// shown are the frames that show it.
	shown []span
	// series is the probability in each frame.
	series []float64
	// p is the probability that was compared with the parameter decided. bounded is the parameter that
	// lowered the confidence, nil for none.
	p                float64
	decided, bounded *Parameter
}

func (v verdict) same(o verdict) bool {
	return v.answer == o.answer && (v.count == nil || o.count == nil || *v.count == *o.count)
}

// limit bounds the confidence.
func (v *verdict) limit(name string, most float64) {
	if v.confidence > most {
		v.confidence, v.bounded = most, &Parameter{name, most}
	}
}

// verdict answers whether, how many, when, or how often a statement holds.
func (e trial) verdict(ask query.Ask, always bool, n *node) verdict {
	switch ask {
	case query.AskCount:
		return e.howMany(n)
	case query.AskWhether:
		if _, never := n.statement.(query.Not); always && !never {
			return e.throughout(n)
		}
		return e.whether(n)
	default: // the others ask for times
	}
	series := e.series(n)
	v := e.judge(e.best(series, e.seconds(n)))
	v.series, v.shown = series, e.intervals(series, n)
	switch {
	case v.answer != Yes:
		v.shown = nil
	case ask == query.AskFirst:
		v.shown = v.shown[:1]
	case ask == query.AskLast:
		v.shown = v.shown[len(v.shown)-1:]
	}
	if ask == query.AskTimes {
		v.count = new(int)
		*v.count = len(e.joined(v.shown))
	}
	return v
}

// judge is the answer to a statement with a probability.
func (e trial) judge(p float64) verdict {
	v := verdict{answer: No, p: p, confidence: 1 - p, decided: &Parameter{"yes", e.cal.Yes}}
	switch {
	case p >= e.cal.Yes:
		v.answer, v.confidence = Yes, p
		v.limit("cap_yes", e.cal.CapYes)
	case p > e.cal.Doubt[0] && p < e.cal.Doubt[1]:
		v.answer, v.confidence, v.decided = Indeterminate, 0, &Parameter{"doubt", e.cal.Doubt[0]}
	case p > PriorAlone:
		v.limit("cap_prior", e.cal.CapPrior)
	default:
		v.limit("cap_no", e.cal.CapNo)
	}
	return v
}

// PriorAlone is the probability from which only the prior of people who ask speaks against a detection: half
// of what they ask for is absent. Without this prior it would be as likely there as not.
const PriorAlone = .2

// whether answers whether a statement is true of the video.
func (e trial) whether(n *node) verdict {
	if _, never := n.statement.(query.Not); never {
		v := e.whether(n.of[0])
		if v.answer != Indeterminate {
			v.answer = opposite(v.answer)
			e.cap(&v)
		}
		return v
	}
	if s, ok := n.statement.(query.Number); ok {
		return e.threshold(s.Quantity, n)
	}
	p, shown := e.truth(n)
	v := e.judge(p)
	if v.answer == Yes {
		v.series = e.series(shown)
		v.shown = e.intervals(v.series, shown)
	}
	return v
}

// throughout answers whether a statement holds in all frames.
func (e trial) throughout(n *node) verdict {
	series := e.series(n)
	v := e.judge(e.best(not(series), e.cal.SecondS))
	v.series = series
	if v.answer != Indeterminate {
		v.answer = opposite(v.answer)
	}
	if v.answer == Yes {
		v.shown = []span{{0, len(v.series) - 1}}
	}
	return v
}

// cap bounds a confidence by that of its answer.
func (e trial) cap(v *verdict) {
	if v.answer == Yes {
		v.limit("cap_yes", e.cal.CapYes)
	} else {
		v.limit("cap_no", e.cal.CapNo)
	}
}

func opposite(a Answer) Answer {
	if a == Yes {
		return No
	}
	return Yes
}

// truth is the probability that a statement is true of the whole video, and the statement whose times
// show it. A part that must be absent must be so all the time.
func (e trial) truth(n *node) (p float64, shown *node) {
	switch s := n.statement.(type) {
	case query.Not:
		p, _ = e.truth(n.of[0])
		return 1 - p, n
	case query.Number:
		return e.numberTruth(s.Quantity, e.ranks(n.thing), e.seconds(n)), n
	case query.Share:
		return e.shareTruth(s, n.thing), n
	case query.Or:
		for _, part := range n.of {
			q, _ := e.truth(part)
			p = max(p, q)
		}
		return p, n
	case query.And:
		present := &node{statement: s}
		p = 1
		for _, part := range n.of {
			if part.complement() || isShare(part) {
				q, _ := e.truth(part)
				p = min(p, q)
			} else {
				present.of = append(present.of, part)
			}
		}
		if len(present.of) == 0 {
			return p, n
		}
		return min(p, e.best(e.series(present), e.seconds(present))), present
	default:
		return e.best(e.series(n), e.seconds(n)), n
	}
}

func isShare(n *node) bool {
	_, ok := n.statement.(query.Share)
	return ok
}

// numberTruth compares the largest number that lasts with a quantity.
func (e trial) numberTruth(q query.Quantity, ranks [][]float64, seconds float64) float64 {
	at := func(k int) float64 { return e.best(e.atLeast(ranks, k), seconds) }
	return compared(q, at, func(p float64) float64 { return 1 - p }, least)
}

// shareTruth compares all instances of the whole video.
func (e trial) shareTruth(s query.Share, t *thing) float64 {
	from := len(t.conditions) - len(s.Conditions)
	meant, fit := e.probabilities(t, 0, from), e.probabilities(t, 0, len(t.conditions))
	exists, fails := e.constant(e.cal.Floor), e.constant(e.cal.Floor)
	e.overlay(exists, t, fit)
	all, with := 0.0, 0.0
	for i, o := range t.objects {
		fails[o.Frame] = max(fails[o.Frame], float64(meant[i]-fit[i]))
		all, with = all+float64(meant[i]), with+float64(fit[i])
	}
	p := e.best(exists, e.cal.SecondS)
	if s.Which == query.MostOf {
		return min(p, sigmoid((with/max(all, 1e-6)-.5)/.08))
	}
	return min(p, 1-e.best(fails, e.cal.SecondS))
}

// tally is the largest number of instances that lasts for a second, with the probability that it is
// exact.
func (e trial) tally(ranks [][]float64, seconds float64) (n int, p float64, series []float64) {
	p = 1
	for ; n < mostCounted; n++ {
		next := e.atLeast(ranks, n+1)
		q := e.best(next, seconds)
		if q < e.cal.Yes {
			return n, min(p, e.cal.CapYes) * (1 - q), series
		}
		p, series = q, next
	}
	return n, p, series
}

// howMany answers a question for a number.
func (e trial) howMany(n *node) verdict {
	things := n.things()
	count, p, series := e.tally(e.ranks(things...), e.seconds(n))
	v := verdict{answer: No, count: &count, series: series, p: p, confidence: p, decided: &Parameter{"yes", e.cal.Yes}}
	if count > 0 {
		v.answer = Yes
		v.shown = e.lasting(series, e.cal.Lift, e.cal.Stay)
	}
	if count == 0 {
		for _, t := range things { // says what could not be seen
			e.holds(t, len(t.conditions))
		}
		if e.assume && len(e.undecided.things) > 0 {
			v.answer = Indeterminate
		}
	}
	e.cap(&v)
	return v
}

// threshold answers whether a number is reached, with the number.
func (e trial) threshold(q query.Quantity, n *node) verdict {
	ranks := e.ranks(n.thing)
	count, _, series := e.tally(ranks, e.seconds(n))
	v := e.judge(e.numberTruth(q, ranks, e.seconds(n)))
	v.count, v.series = &count, series
	if v.answer != Indeterminate && (v.answer == Yes) != meets(q, count) { // the number decides when both are near even odds
		v.answer = opposite(v.answer)
	}
	if count > 0 {
		v.shown = e.lasting(series, e.cal.Lift, e.cal.Stay)
	} else if e.holds(n.thing, len(n.thing.conditions)); e.assume && len(e.undecided.things) > 0 {
		v.answer = Indeterminate
	}
	return v
}

// some reports whether anything was undecided.
func (u *undecided) some() bool { return len(u.things)+len(u.conditions) > 0 }

// reason returns the code and the sentence for an answer that is indeterminate.
func (u *undecided) reason() (query.Reason, string) {
	if len(u.things) > 0 {
		t := u.things[0]
		if !t.known() {
			return query.NothingDetected, fmt.Sprintf("The model does not know %q.", t.Term)
		}
		return query.NothingDetected, fmt.Sprintf("The model knows only some kinds of %q and detected none.", t.Term)
	}
	var texts []string
	for c, t := range u.conditions {
		texts = append(texts, fmt.Sprintf("A %s is visible; whether it is %q cannot be told.", t.Term, c.Value))
	}
	slices.Sort(texts)
	return query.LowConfidence, texts[0]
}

func termsOf(things []*thing) []string {
	var out []string
	for _, t := range things {
		if text := strings.TrimSpace("a " + t.Term); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func withDefaults(ev evidence.Evidence) evidence.Evidence {
	if !(ev.IntervalS > 0) || math.IsInf(ev.IntervalS, 0) {
		ev.IntervalS = fallbackIntervalS
	}
	if !(ev.DurationS > 0) || math.IsInf(ev.DurationS, 0) {
		ev.DurationS = 0
	}
	return ev
}
