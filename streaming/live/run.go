package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

const (
	// idle is the longest time between two looks of the goroutine at its session.
	idle = time.Minute
	// silence is the time without a result after which the client learns that the engine is away.
	silence = 2 * time.Second
)

// ending is why and how a session ends.
type ending struct {
	// reason is empty when the client ends the stream.
	reason stream.EndReason
	detail string
	// say tells the client why, before the message end. It may be nil.
	say *message.Error
	// silent ends the session without a command: the stream has ended, or belongs to another node.
	silent bool
}

// actor is the state of the goroutine of a session.
type actor struct {
	*Session
	in inputs // the latest

	goneLive  bool // GoLive was written
	live      bool // the log has recorded it
	running   bool // of the clock, as it was written
	nextMeter time.Time
	warned    bool
	asked     int64     // the held seconds at whose end others were asked for
	lost      time.Time // since when the client is away, or zero
	prompt    string

	results   int64
	latest    []stream.Result
	resultAt  time.Time // of the latest result, or of going live
	engineErr error     // since the latest result
	told      bool      // the client knows that the engine is away
}

// run is the goroutine of the session. It returns when the session has ended.
func (s *Session) run() {
	a := &actor{Session: s, in: s.read()}
	a.prompt = promptOf(a.in.state)
	defer s.stop()
	defer s.abandon()
	ctx, stopWriting := context.WithCancel(context.Background())
	var writing sync.WaitGroup
	writing.Go(func() { s.clerk.run(ctx) })
	defer func() { stopWriting(); writing.Wait() }()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		a.in = s.read()
		now := s.host.options.Now()
		end, next := a.step(now)
		if end != nil {
			a.finish(*end)
			return
		}
		timer.Reset(max(0, next.Sub(now)))
		select {
		case <-s.news:
		case <-timer.C:
		case f := <-s.found:
			a.take(f)
		}
	}
}

// deliver passes what the watcher found to the goroutine of the session.
func (s *Session) deliver(ctx context.Context, f finding) {
	select {
	case s.found <- f:
	case <-ctx.Done():
	}
}

// step does the work that is due. It returns the end of the session, or the time of the next step.
func (a *actor) step(now time.Time) (end *ending, next time.Time) {
	st := a.in.state
	switch {
	case st.Status == stream.EndedStatus:
		return &ending{reason: st.Reason, silent: true}, next
	case st.Node != a.node:
		return &ending{reason: stream.Failed, silent: true}, next
	case a.in.ending != nil:
		return a.in.ending, next
	case a.in.connection == peer.Closed:
		return &ending{detail: "The client closed the connection."}, next
	case a.in.refusedLive:
		return &ending{reason: stream.Failed, detail: "The service could not record that the stream is live."}, next
	}
	a.ask()
	if a.in.connection == peer.Connected && st.Status == stream.Ready && !a.goneLive {
		a.goneLive = true
		a.clerk.push(stream.GoLive{Node: a.node, Codec: a.in.codec, Path: a.path()})
	}
	if st.Status != stream.Live {
		at, reason, _ := st.Deadline(a.host.options.Windows)
		if !now.Before(at) && !a.goneLive {
			return &ending{reason: reason, detail: details[reason]}, next
		}
		return nil, later(now, at)
	}
	if !a.live {
		a.goLive(now)
	}
	return a.stepLive(now)
}

// later returns the time of the next step: at, or soon when at has passed.
func later(now, at time.Time) time.Time {
	if at.After(now) {
		return at
	}
	return now.Add(idle)
}

// goLive starts the clock and the watcher, because the log has recorded that the stream is live.
func (a *actor) goLive(now time.Time) {
	a.live, a.resultAt, a.nextMeter = true, now, now.Add(a.host.options.Meter)
	a.broadcast(message.Live{LiveStartedAt: *a.in.state.LiveAt})
	a.status(message.PromptContext, "The stream answers: "+a.prompt)
	a.working.Go(func() {
		if a.canned != nil {
			a.watch.runCanned(a.ctx, a.canned)
			return
		}
		a.watch.run(a.ctx)
	})
}

// ask passes the question on when it has changed.
func (a *actor) ask() {
	st := a.in.state
	prompt := promptOf(st)
	if prompt == a.prompt {
		return
	}
	a.prompt = prompt
	a.watch.question.Store(&question{query: st.Query, narrative: st.Narrative})
	a.broadcast(message.PromptUpdated{Prompt: prompt, Query: st.Query})
	a.status(message.PromptContext, "The stream answers: "+prompt)
	a.status(message.Recalculating, "The next sample is examined for the new question.")
}

// promptOf is the prompt of a stream, or empty.
func promptOf(st stream.State) string {
	if st.Prompt == nil {
		return ""
	}
	return *st.Prompt
}

// status sends a status message, which only streams with the narrative option get.
func (a *actor) status(kind message.StatusKind, text string) {
	if a.in.state.Narrative {
		a.broadcast(message.Status{Status: kind, Message: text})
	}
}

// take sends a result.
func (a *actor) take(f finding) {
	now := a.host.options.Now()
	if f.err != nil {
		if a.engineErr == nil {
			a.host.options.Logger.Warn("the engine does not answer a live stream", "stream_id", a.id, "error", f.err)
		}
		a.engineErr = f.err
		return
	}
	timing := Timing{Total: now.Sub(f.sampledAt), Engine: f.engine}
	if a.results == 0 {
		timing.First = max(1, now.Sub(a.resultAt))
	}
	a.engineErr, a.told, a.resultAt = nil, false, now
	a.results++
	r := f.result
	a.latest = append(a.latest, r)
	a.latest = a.latest[max(0, len(a.latest)-stream.MaxLastDetections):]
	detections := r.Detections
	if detections == nil {
		detections = []stream.Detection{}
	}
	a.broadcast(message.Result{
		Seq: a.results, AtS: r.AtS, Answer: r.Answer, Confidence: r.Confidence, DetectedCount: r.DetectedCount,
		IndeterminateReason: r.IndeterminateReason, UnsupportedAction: a.absolute(r.UnsupportedAction),
		Detections: detections, NarrativeUpdate: r.NarrativeUpdate,
	})
	if timed := a.host.options.Timed; timed != nil {
		timed(timing)
	}
}

// absolute makes the address of the documents one of this service.
func (a *actor) absolute(u *answer.UnsupportedAction) *answer.UnsupportedAction {
	if u == nil || !strings.HasPrefix(u.DocsURL, "/") {
		return u
	}
	return &answer.UnsupportedAction{Reason: u.Reason, DocsURL: strings.TrimSuffix(a.host.options.PublicURL, "/") + u.DocsURL}
}

// tellEngine says once that the engine is away. It returns when to look again.
func (a *actor) tellEngine(now time.Time) time.Time {
	due := a.resultAt.Add(silence)
	switch {
	case a.engineErr == nil || a.told:
		return now.Add(idle)
	case now.Before(due):
		return due
	}
	a.told = true
	a.broadcast(message.Error{
		Code:    fault.InferenceUnavailable,
		Message: "The model does not answer at the moment. The stream goes on, and results follow when it does.",
	})
	return now.Add(idle)
}

// path returns the way of the packets, such as "udp host".
func (a *actor) path() string {
	d := a.Diagnostics()
	for _, pair := range d.Pairs {
		ends, worked := strings.CutSuffix(pair, " succeeded")
		if _, remote, ok := strings.Cut(ends, " - "); worked && ok {
			for _, c := range d.Remote {
				if f := strings.Fields(c); len(f) == 3 && f[1] == remote {
					return fmt.Sprintf("%s %s", f[0], f[2])
				}
			}
		}
	}
	return ""
}

// codecOf returns the codec of an answer, which has one.
func codecOf(sdp string) string {
	_, video, _ := strings.Cut(sdp, "\r\nm=video ")
	_, name, ok := strings.Cut(video, "\r\na=rtpmap:")
	if !ok {
		return ""
	}
	_, name, _ = strings.Cut(name, " ")
	name, _, _ = strings.Cut(name, "/")
	return name
}
