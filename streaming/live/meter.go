package live

import (
	"time"

	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

// askBefore is the time before the end of the held seconds at which the session asks once more for others.
const askBefore = time.Second

// details say why the service ended a stream.
var details = map[stream.EndReason]string{
	stream.Canceled:            "No client joined in time.",
	stream.ICEFailed:           "No connection to the client was found in time.",
	stream.MediaTimeout:        "No result came within the first-frame window.",
	stream.Timeout:             "The stream reached its longest time.",
	stream.InsufficientCredits: "The credits are used up.",
}

// stepLive is step for a stream that is live.
func (a *actor) stepLive(now time.Time) (end *ending, next time.Time) {
	a.clock.allow(a.canned != nil || a.watch.assesses(a.in.state.Query), now)
	r := a.clock.read(now)
	a.follow(r)
	if end, next = a.deadline(now, r); end != nil {
		return end, next
	}
	if !now.Before(a.nextMeter) {
		a.meter(r)
		a.nextMeter = a.nextMeter.Add(a.host.options.Meter)
		if !a.nextMeter.After(now) {
			a.nextMeter = now.Add(a.host.options.Meter)
		}
		a.broadcast(a.metering(r))
	}
	for _, at := range []time.Time{a.nextMeter, a.warn(now, r), a.tellEngine(now)} {
		if at.Before(next) {
			next = at
		}
	}
	if gap := r.last.Add(MaxGap + time.Millisecond); r.fed && gap.Before(next) {
		next = gap
	}
	return nil, next
}

// follow writes that the clock runs or stands.
func (a *actor) follow(r reading) {
	switch {
	case r.running && !a.running:
		a.clerk.push(stream.Resume{Node: a.node})
	case a.running && !r.running:
		a.clerk.push(stream.Pause{Node: a.node, ClockMillis: a.millis(r)})
	}
	a.running = r.running
}

// millis is the clock in milliseconds. It never exceeds the held seconds.
func (a *actor) millis(r reading) int64 {
	millis := r.total.Milliseconds()
	if a.in.state.Livemode {
		millis = min(millis, a.in.state.HeldSeconds*1000)
	}
	return millis
}

// deadline returns the end of the session when its time is over, or the time at which it will be.
func (a *actor) deadline(now time.Time, r reading) (*ending, time.Time) {
	st := a.in.state
	// The log has the clock and the results of the last heartbeat.
	st.Running, st.ClockMillis, st.ClockedAt = r.running, r.total.Milliseconds(), &r.last
	if st.FirstFrameAt = nil; a.results > 0 {
		st.FirstFrameAt = st.LiveAt
	}
	at, reason, _ := st.Deadline(a.host.options.Windows)
	if reason == stream.InsufficientCredits && a.asked != st.HeldSeconds {
		if before := at.Add(-askBefore); now.Before(before) {
			at = before
		} else {
			a.asked = st.HeldSeconds
			a.meter(r) // credits that were bought since the latest heartbeat count
		}
	}
	if !now.Before(at) {
		if reason == stream.InsufficientCredits && !a.in.answered {
			return &ending{reason: stream.Failed, detail: "The service could not reserve more credits."}, at
		}
		return &ending{reason: reason, detail: details[reason]}, at
	}
	if a.in.connection == peer.Connected && (a.in.sockets > 0 || r.fed) {
		a.lost = time.Time{}
		return nil, at
	}
	if a.lost.IsZero() {
		a.lost = now
	}
	over := a.lost.Add(a.host.options.Grace)
	if !now.Before(over) {
		return &ending{reason: stream.Completed, detail: "The client went away and did not come back in time."}, over
	}
	if over.Before(at) {
		at = over
	}
	return nil, at
}

// meter writes a heartbeat.
func (a *actor) meter(r reading) {
	a.clerk.push(stream.Meter{Node: a.node, ClockMillis: a.millis(r), HeldSeconds: a.in.state.HeldSeconds, ResultFrames: a.results})
}

// metering is the state of the clock and of the credits for the client.
func (a *actor) metering(r reading) message.Metering {
	m := message.Metering{ElapsedS: r.total.Milliseconds() / 1000, BalanceSeconds: a.in.funds.Balance}
	if a.in.state.Livemode {
		m.BilledSeconds = (a.millis(r) + 999) / 1000
		m.BalanceSeconds -= m.BilledSeconds
	}
	return m
}

// warn sends the warning once, when it is due. It returns when to look again.
func (a *actor) warn(now time.Time, r reading) time.Time {
	st := a.in.state
	if a.warned {
		return now.Add(idle)
	}
	ahead := time.Duration(st.WarnAtSeconds) * time.Second
	at := st.LiveAt.Add(time.Duration(st.MaxSessionSeconds) * time.Second)
	if paid := time.Duration(st.HeldSeconds+a.in.funds.Available) * time.Second; st.Livemode && r.running {
		if out := r.last.Add(paid - r.total); out.Before(at) {
			at = out
		}
	}
	if due := at.Add(-ahead); now.Before(due) {
		return due
	}
	a.warned = true
	left := max(0, at.Sub(now))
	a.broadcast(message.Warning{RemainingS: int64((left + time.Second - 1) / time.Second)})
	return now.Add(idle)
}
