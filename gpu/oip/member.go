package oip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"vqa/gpu"
)

// state of a member: see the package documentation.
type state int

const (
	out state = iota
	probing
	in
)

// member is a server with its state in the pool. Pool.mu guards all fields but Server.
type member struct {
	Server
	state state
	// info is the model that it reported last.
	info gpu.Info
	// outstanding calls, at most limit.
	outstanding, limit int
	// failures in a row; retryAt is the time of the next probe.
	failures int
	retryAt  time.Time
	// refusedUntil is the time until which a refusal for lack of room counts.
	refusedUntil time.Time
	// err is the reason why it is out; nil before the first probe.
	err error
}

// busier reports whether a has less room than b. A server that refused work has less room
// than one that did not. Otherwise the share of its limit in use decides.
func busier(a, b *member, now time.Time) bool {
	if aRefused, bRefused := a.refusedUntil.After(now), b.refusedUntil.After(now); aRefused != bRefused {
		return aRefused
	}
	return a.outstanding*b.limit > b.outstanding*a.limit
}

// acquire reserves room on the server with the most room, except those already tried. It
// waits for room, or for a probe when no server is in use. Errors: *UnavailableError, with
// gpu.ErrSaturated for lack of room, and the end of ctx.
func (p *Pool) acquire(ctx context.Context, tried []*member) (*member, error) {
	limit := time.NewTimer(p.opts.Wait)
	defer limit.Stop()
	for first := true; ; first = false {
		p.mu.Lock()
		p.probeDue(first)
		best, full, awaited := p.choose(tried)
		if best != nil {
			best.outstanding++
			p.mu.Unlock()
			return best, nil
		}
		if full == 0 && awaited == 0 {
			err := p.away(tried)
			p.mu.Unlock()
			return nil, err
		}
		if p.waiting >= maxWaiting {
			p.mu.Unlock()
			return nil, &gpu.UnavailableError{Err: gpu.ErrSaturated}
		}
		p.waiting++
		changed := p.changed
		p.mu.Unlock()
		err := wait(ctx, changed, limit.C, full > 0)
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// wait returns nil when changed is closed.
func wait(ctx context.Context, changed <-chan struct{}, limit <-chan time.Time, full bool) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("inference: %w", context.Cause(ctx))
	case <-limit:
		if full {
			return &gpu.UnavailableError{Err: gpu.ErrSaturated}
		}
		return &gpu.UnavailableError{Err: errTimeout}
	}
}

// choose returns the member with the most room, or how many are full and how many may come
// in. The caller holds the lock.
func (p *Pool) choose(tried []*member) (best *member, full, awaited int) {
	now := time.Now()
	p.turn++
	for i := range p.members {
		m := p.members[(p.turn+i)%len(p.members)]
		switch {
		case slices.Contains(tried, m):
		case m.state == probing:
			awaited++
		case m.state == out:
		case m.outstanding >= m.limit:
			full++
		case best == nil || busier(best, m, now):
			best = m
		}
	}
	return best, full, awaited
}

// away is the error when no server that was not tried can be used. The caller holds the
// lock.
func (p *Pool) away(tried []*member) error {
	var all []error
	for _, m := range p.members {
		if m.err != nil && !slices.Contains(tried, m) {
			all = append(all, fmt.Errorf("%s: %w", m.Name, m.err))
		}
	}
	if all == nil {
		all = append(all, errors.New("no other server to try"))
	}
	return &gpu.UnavailableError{Err: errors.Join(all...)}
}

// probeDue starts the probes that are due. With now, it probes all servers at once: no
// server is in use, and a probe may find one. The caller holds the lock.
func (p *Pool) probeDue(now bool) {
	using := slices.ContainsFunc(p.members, func(m *member) bool { return m.state == in })
	for _, m := range p.members {
		if m.state == out && (!time.Now().Before(m.retryAt) || now && !using) {
			p.probe(m)
		}
	}
}

// probe checks whether a member that is out may be used. The caller holds the lock.
func (p *Pool) probe(m *member) {
	if m.state != out || p.closed {
		return
	}
	m.state = probing
	p.probes.Go(func() {
		ctx, cancel := context.WithTimeout(p.lifetime, probeTimeout)
		defer cancel()
		err := m.Engine.Ready(ctx)
		var info gpu.Info
		if err == nil {
			info, err = m.Engine.Info(ctx)
		}
		if err == nil {
			err = p.recognize(m, info)
		}
		if err != nil {
			p.eject(m, err)
		}
	})
}

// recognize takes in a member when it serves the same model as the members in use. When
// none is in use, its model becomes that of the pool. So weights can be replaced one server
// after another: servers with new weights wait until the last one with old weights is gone.
// Error: *UnavailableError with ErrOtherModel.
func (p *Pool) recognize(m *member, info gpu.Info) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.members {
		if other != m && other.state == in && !sameModel(other.info, info) {
			return &gpu.UnavailableError{Err: fmt.Errorf("%w: it serves %s, but %s serves %s", ErrOtherModel, info.Weights, other.Name, other.info.Weights)}
		}
	}
	if m.state == probing {
		if m.err != nil {
			p.opts.Log.Info("inference server in use again", "server", m.Name)
		}
		m.state, m.err = in, nil
	}
	m.info = info
	// One batch is processed while the next one is sent.
	m.limit = max(4, 2*info.Concurrency)
	p.announce()
	return nil
}

func sameModel(a, b gpu.Info) bool {
	return a.Weights == b.Weights && a.Digest == b.Digest && slices.Equal(a.Vocabulary, b.Vocabulary) && slices.Equal(a.Colors, b.Colors) && a.Shades == b.Shades && a.Rotations == b.Rotations && a.PPM == b.PPM
}

// release gives room back and records how the call ended.
func (p *Pool) release(ctx context.Context, m *member, err error) {
	_, unavailable := errors.AsType[*gpu.UnavailableError](err)
	p.mu.Lock()
	switch {
	case errors.Is(err, gpu.ErrSaturated):
		m.refusedUntil = time.Now().Add(refusalFor)
	case err == nil:
		// A successful probe does not count as work: a server may be ready and still fail.
		m.refusedUntil, m.failures = time.Time{}, 0
	}
	p.mu.Unlock()
	p.leave(m)
	if unavailable && !errors.Is(err, gpu.ErrSaturated) && ctx.Err() == nil {
		p.eject(m, err)
	}
}

// leave gives room back.
func (p *Pool) leave(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.outstanding--
	p.announce()
}

// eject takes a member out, for longer with every failure in a row.
func (p *Pool) eject(m *member, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.state == out {
		return // another call on it failed as well
	}
	level := slog.LevelDebug // that it is still out was logged before
	if m.state == in || m.err == nil {
		level = slog.LevelWarn
	}
	m.state, m.err = out, err
	pause := maxEjection
	if m.failures < 5 { // 1, 2, 4, 8, 16 s
		pause = minEjection << m.failures
	}
	m.failures++
	m.retryAt = time.Now().Add(pause)
	if p.lifetime.Err() == nil {
		p.opts.Log.Log(p.lifetime, level, "inference server out of use", "server", m.Name, "error", err, "retry_in", pause)
	}
	p.announce()
}

// announce wakes the waiting calls. The caller holds the lock.
func (p *Pool) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// saturated reports whether every server in use refuses work for lack of room, or the queue
// for room is full.
func (p *Pool) saturated() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, using := time.Now(), 0
	for _, m := range p.members {
		if m.state != in {
			continue
		}
		if using++; !m.refusedUntil.After(now) {
			return p.waiting >= maxWaiting
		}
	}
	return using > 0
}
