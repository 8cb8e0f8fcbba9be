package live

import (
	"math"
	"slices"
	"strings"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/narrative"
	"vqa/domain/sampling"
	"vqa/domain/stream"
)

const (
	// tellS is the length of the video that is described at once, in seconds.
	tellS = 20
	// tellEveryS is the time between two descriptions, in seconds.
	tellEveryS = 1
	// surelyS is the age at which a sentence is sent, in seconds: later samples may still change a
	// younger one.
	surelyS = 1.5
	// maxUntold bounds the sentences that wait for a result.
	maxUntold = 8
)

// teller writes the narrative of a stream, sentence by sentence. It is for one goroutine.
type teller struct {
	samples []evidence.Frame // about half a second apart
	started bool             // the opening was sent
	told    float64          // the time up to which all sentences were sent
	due     float64
	untold  []stream.NarrativeUpdate
	recent  []narrative.Entry // the latest sentences that were sent
}

// take adds a sample.
func (t *teller) take(f evidence.Frame) {
	if n := len(t.samples); n > 0 && f.At-t.samples[n-1].At < sampling.BaseStepS-.1 {
		return
	}
	t.samples = append(t.samples, f)
	old := 0
	for t.samples[old].At < f.At-tellS {
		old++
	}
	t.samples = slices.Delete(t.samples, 0, old)
}

// next returns a new sentence, or nil.
func (t *teller) next(v view, aspect float64, rules answer.Calibration) *stream.NarrativeUpdate {
	if n := len(t.samples); n > 0 && t.samples[n-1].At >= t.due {
		t.due = t.samples[n-1].At + tellEveryS
		t.describe(v, aspect, rules)
	}
	if len(t.untold) == 0 {
		return nil
	}
	u := t.untold[0]
	t.untold = t.untold[1:]
	return &u
}

// describe adds the sentences that are old enough and new.
func (t *teller) describe(v view, aspect float64, rules answer.Calibration) {
	from, now := t.samples[0].At, t.samples[len(t.samples)-1].At
	if now-from < surelyS {
		return
	}
	ev := evidence.Evidence{
		Terms: v.terms, Known: v.known, Colors: v.colors, Aspect: aspect, IntervalS: sampling.BaseStepS, DurationS: now - from + sampling.BaseStepS,
	}
	for _, f := range t.samples {
		f.At -= from
		ev.Frames = append(ev.Frames, f)
	}
	for i, e := range narrative.Write(ev, rules) {
		e.AtS += from
		opening := i == 0
		switch {
		case opening && t.started, !opening && e.AtS <= t.told-surelyS, e.AtS > now-surelyS && !opening, t.repeats(e):
			continue
		}
		t.recent = append(t.recent, e)
		if len(t.untold) < maxUntold {
			t.untold = append(t.untold, stream.NarrativeUpdate{AtS: digits(e.AtS), Text: e.Text})
		}
	}
	t.started, t.told = true, now-surelyS
	t.recent = slices.DeleteFunc(t.recent, func(e narrative.Entry) bool { return e.AtS < now-tellS })
}

// repeats reports whether the same words were sent for about the same time.
func (t *teller) repeats(e narrative.Entry) bool {
	return slices.ContainsFunc(t.recent, func(r narrative.Entry) bool {
		return math.Abs(r.AtS-e.AtS) < surelyS && strings.EqualFold(r.Text, e.Text)
	})
}
