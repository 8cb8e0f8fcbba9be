package live

import (
	"context"
	"slices"
	"time"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/decode"
	"vqa/streaming/message"
)

// KeptResults is the number of results that can be read again.
const KeptResults = keptResults

// Sampler is the sampler of a session.
type Sampler interface {
	Push(p assemble.Picture)
	Next(ctx context.Context) (decode.Sample, error)
	Counts() decode.Counts
	Close()
}

// SampleWith lets a host use another sampler than ffmpeg.
func (h *Host) SampleWith(f func() Sampler) { h.sample = func(func()) sampler { return f() } }

// Fanout passes messages on.
type Fanout struct{ *fanout }

// NewFanout returns one without subscribers.
func NewFanout() Fanout { return Fanout{newFanout()} }

// Send passes a message on.
func (f Fanout) Send(m message.Server) { f.send(m) }

// Subscribe is Session.Subscribe.
func (f Fanout) Subscribe(after int64) *Subscription { return f.subscribe(after) }

// Finish ends all subscriptions.
func (f Fanout) Finish() { f.close() }

// WindowOf returns the evidence of a window with these samples.
func WindowOf(seconds float64, samples ...evidence.Frame) evidence.Evidence {
	w := window{view: view{terms: []string{"dog"}, known: []bool{true}}}
	for _, f := range samples {
		w.add(f, time.Time{}.Add(time.Duration(f.At*float64(time.Second))))
	}
	return w.evidence(seconds)
}

// WindowS is the length of the window for a question.
func WindowS(q query.Query) float64 { return lengthS(q, answer.CPU()) }

// Shown returns the answers that the client sees for those of the window, at some seconds.
func Shown(at []float64, answers ...answer.Answer) []answer.Answer {
	var o opinion
	var shown []answer.Answer
	for i, a := range answers {
		shown = append(shown, o.next(verdict{answer: a, confidence: .9}, time.Time{}.Add(time.Duration(at[i]*float64(time.Second)))).answer)
	}
	return shown
}

// ShownDetections are the boxes of a result.
func ShownDetections(q query.Query, terms []string, all []evidence.Detection) []stream.Detection {
	ev := evidence.Evidence{Terms: terms, Known: slices.Repeat([]bool{true}, len(terms)), Frames: []evidence.Frame{{Detections: all}}}
	return shownDetections(q, ev, answer.CPU())
}

// Tell returns the sentences about samples that come one after the other.
func Tell(terms []string, samples ...evidence.Frame) []stream.NarrativeUpdate {
	var t teller
	var told []stream.NarrativeUpdate
	v := view{terms: terms, known: make([]bool, len(terms))}
	for i := range v.known {
		v.known[i] = true
	}
	for _, f := range samples {
		t.take(f)
		if u := t.next(v, 16./9, answer.CPU()); u != nil {
			told = append(told, *u)
		}
	}
	return told
}

// Clerk is the queue of commands of a session.
type Clerk struct{ *clerk }

// NewClerk returns one that writes nothing.
func NewClerk() Clerk { return Clerk{newClerk(nil, "st_1", nil)} }

// Push adds a command.
func (k Clerk) Push(c stream.Command) { k.push(c) }

// Try marks the first command as one that the log may have taken.
func (k Clerk) Try() { k.first() }

// Waiting returns the commands that wait.
func (k Clerk) Waiting() []stream.Command {
	var all []stream.Command
	for _, e := range k.queue {
		all = append(all, e.command)
	}
	return all
}

// Allowance limits what a client may ask for.
type Allowance struct{ allowance }

// Take reports whether another request is allowed.
func (a *Allowance) Take(now time.Time) bool { return a.take(now) }

// Clock is the live clock.
type Clock struct{ clock }

// Allow lets it run from a time on, or stand.
func (c *Clock) Allow(run bool, at time.Time) { c.allow(run, at) }

// Frame notes a picture.
func (c *Clock) Frame(at time.Time) { c.frame(at) }

// Stop ends it at the latest picture.
func (c *Clock) Stop() { c.stop() }

// Read returns whether it runs, and its value.
func (c *Clock) Read(now time.Time) (bool, time.Duration) {
	r := c.read(now)
	return r.running, r.total
}

// At returns its value at the time of a picture.
func (c *Clock) At(t time.Time) time.Duration { return c.at(t) }
