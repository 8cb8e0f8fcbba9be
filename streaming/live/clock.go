package live

import (
	"sync"
	"time"
)

const (
	// MaxGap is the longest time between two pictures that belongs to the live clock.
	MaxGap = 2 * time.Second
	// leastStretch is the least time from a start of the clock to the next pause. Without it, a picture after each
	// gap would get its result and cost nothing.
	leastStretch = time.Second
	// leastClock is the least time of a clock that runs. It counts as a second of the bill that has started.
	leastClock = time.Millisecond
)

// clock is the live clock of a stream. It is safe for concurrent use.
type clock struct {
	mu      sync.Mutex
	open    bool // pictures let it run
	running bool
	total   time.Duration // until the latest start
	since   time.Time     // the latest start
	last    time.Time     // the latest picture
}

// reading is the state of a clock.
type reading struct {
	running bool
	// fed says that pictures arrive, also while the clock must stand.
	fed bool
	// total is the clock at the latest picture.
	total time.Duration
	// last is the time of the latest picture. It is zero before the first.
	last time.Time
}

// frame notes a complete picture that arrived at a time.
func (c *clock) frame(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(at)
	if at.After(c.last) {
		c.last = at
	}
	c.start(at)
}

// allow lets pictures run the clock from now on, or lets it stand. Pictures before cost nothing.
func (c *clock) allow(run bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	if run == c.open {
		return
	}
	c.open = run
	switch {
	case !run:
		c.pause()
	case c.fed(now):
		c.last = now
		c.start(now)
	}
}

// stop ends the clock at the latest picture.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		c.total += max(c.last.Sub(c.since), leastClock)
	}
	c.running, c.open = false, false
}

// read returns the state of the clock.
func (c *clock) read(now time.Time) reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	r := reading{running: c.running, fed: c.fed(now), total: c.total, last: c.last}
	if c.running {
		r.total += max(c.last.Sub(c.since), leastClock)
	}
	return r
}

// at returns the clock at the time of a picture.
func (c *clock) at(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running || t.Before(c.since) {
		return c.total
	}
	return c.total + t.Sub(c.since)
}

func (c *clock) start(at time.Time) {
	if c.open && !c.running {
		c.running, c.since = true, at
	}
}

// settle pauses a clock whose latest picture is too old.
func (c *clock) settle(now time.Time) {
	if !c.fed(now) {
		c.pause()
	}
}

func (c *clock) fed(now time.Time) bool { return !c.last.IsZero() && now.Sub(c.last) <= MaxGap }

func (c *clock) pause() {
	if c.running {
		c.total += max(c.last.Sub(c.since), leastStretch)
		c.running = false
	}
}
