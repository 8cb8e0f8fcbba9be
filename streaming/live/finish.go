package live

import (
	"context"
	"time"

	"vqa/domain/stream"
	"vqa/streaming/message"
)

const (
	// endNotice is the time after which the client learns of the end although the log is away.
	endNotice = 2 * time.Second
	// recorderTimeout bounds the end of a recording.
	recorderTimeout = 10 * time.Second
)

// The hints for pictures that arrived without a result.
const (
	undecoded  = "Pictures arrived, but none could be decoded. Send at most 4096x4096 pixels, and check the encoder."
	unanswered = "Pictures arrived, but the model did not answer in time. Try again later. The operator can check the model with vqa doctor."
)

// finish ends the session: it stops the media, records the end, tells the client, and frees everything.
func (a *actor) finish(e ending) {
	if e.say != nil {
		a.broadcast(*e.say)
	}
	now := a.host.options.Now()
	r := a.clock.read(now)
	a.clock.stop()
	diagnostic := a.diagnose(e.reason)
	if media := a.host.options.Media; media != nil {
		media(a.Diagnostics().Media)
	}
	a.stop()
	defer a.hangUp()
	if a.samples != nil {
		a.samples.Close()
	}
	a.working.Wait()
	recorded := a.closeRecorder()
	if e.silent {
		a.sendEnd(e)
		return
	}
	a.awaitEnd(stream.End{
		Node: a.node, Reason: e.reason, Detail: e.detail, ClockMillis: a.millis(r),
		Summary:    stream.Summary{ResultFrames: a.results, LastDetections: a.latest},
		Diagnostic: diagnostic, RecordingFailed: !recorded,
	}, e)
}

// diagnose returns why the client did not connect or got no result, or nil when the end has another reason.
func (a *actor) diagnose(reason stream.EndReason) *stream.Diagnostic {
	if reason != stream.ICEFailed && reason != stream.MediaTimeout {
		return nil
	}
	d := a.Diagnostics()
	if d.Hint == "" && d.Media.Pictures > 0 && a.samples != nil {
		d.Hint = unanswered
		if a.samples.Counts().Samples == 0 {
			d.Hint = undecoded
		}
	}
	if d.Hint == "" {
		return nil
	}
	return &stream.Diagnostic{LocalCandidates: d.Local, Hint: d.Hint}
}

// closeRecorder ends the recording, if there is one. It reports whether the recording is complete.
func (a *actor) closeRecorder() bool {
	if a.recorder == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(a.patience, recorderTimeout)
	defer cancel()
	if err := a.recorder.Close(ctx); err != nil {
		a.host.options.Logger.Error("the recording of a live stream broke", "stream_id", a.id, "error", err)
		return false
	}
	return true
}

// awaitEnd writes the end and waits until the log has it, or another one. It tells the client, after
// endNotice also without the log.
func (a *actor) awaitEnd(c stream.End, e ending) {
	a.clerk.push(c)
	timer := time.NewTimer(endNotice)
	defer timer.Stop()
	for {
		a.in = a.read()
		switch {
		case a.in.state.Status == stream.EndedStatus || a.in.state.Node != a.node || a.patience.Err() != nil:
			a.sendEnd(e)
			return
		case a.in.refusedEnd && c.Reason == stream.Failed:
			a.host.options.Logger.Error("the log refused the end of a live stream", "stream_id", a.id)
			a.sendEnd(e)
			return
		case a.in.refusedEnd:
			c.Reason = stream.Failed // which fits every state
			a.tell(func(in *inputs) { in.refusedEnd = false })
			a.clerk.push(c)
		}
		select {
		case <-a.news:
		case <-timer.C:
			a.sendEnd(e)
			a.hangUp()
		}
	}
}

// sendEnd tells the client why the stream has ended. A stream that goes on elsewhere only ends its
// subscriptions. Only the first call has an effect.
func (a *actor) sendEnd(e ending) {
	st := a.in.state
	switch {
	case st.Status == stream.EndedStatus:
		a.broadcast(message.ServerEnd{Reason: st.Reason})
	case e.silent:
	case e.reason != "":
		a.broadcast(message.ServerEnd{Reason: e.reason})
	case st.Status == stream.Live:
		a.broadcast(message.ServerEnd{Reason: stream.Completed})
	default:
		a.broadcast(message.ServerEnd{Reason: stream.Canceled})
	}
	a.fan.close()
}

// hangUp closes the connection to the client.
func (a *actor) hangUp() {
	a.mu.Lock()
	p := a.peer
	a.mu.Unlock()
	if p != nil {
		p.Close()
	}
}
